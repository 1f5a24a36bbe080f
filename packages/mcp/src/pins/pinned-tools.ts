/** See docs/decisions/0051-pinned-tools.md. */
import type { Decision, IntentSubmission } from "@countersign/contract";
import { ActionBlocked, ClaimedBefore, carryOut } from "@countersign/sdk";
import { type CallDeps, Cancelled } from "../calls/governed-call.ts";
import type { JsonObject } from "../protocol/messages.ts";
import { changeOf, type Definition, definitionsIn, isSame } from "./definition.ts";
import { type PinStore, tools_max } from "./pin-store.ts";

export interface PinnedToolsOptions {
  readonly store: PinStore;
  readonly client: CallDeps["client"];
  readonly mode: "shadow" | undefined;
  /** Builds the intent that asks people about a change. `meta` is the `_meta` of the call. */
  readonly submissionOf: (tool: string, change: JsonObject, meta: JsonObject) => IntentSubmission;
  readonly note: (text: string) => void;
}

/** A call of a tool that must wait until people accepted the tool's definition. */
export interface GuardedCall {
  readonly tool: string;
  readonly meta: JsonObject;
  readonly signal: AbortSignal;
  readonly hold: CallDeps["hold"];
  readonly ruled: CallDeps["ruled"];
}

interface Change {
  readonly was: Definition;
  readonly now: Definition;
}

/** One question to people. Concurrent calls of the tool wait for the same answer. */
interface Question {
  readonly about: Definition;
  readonly pending: Promise<Decision>;
  readonly answer: Promise<void>;
}

/**
 * Pins the definition of each tool when the server first lists it. Before a call of a tool with another definition,
 * people must accept that definition. Then it becomes the pinned one.
 */
export class PinnedTools {
  readonly #options: PinnedToolsOptions;
  /** Definitions that nobody accepted. Listing the pinned one again removes none, because the model may have read it. */
  readonly #changed = new Map<string, Definition>();
  readonly #questions = new Map<string, Question>();
  #has_too_many = false;
  readonly #ending = new AbortController();

  constructor(options: PinnedToolsOptions) {
    this.#options = options;
  }

  /** Compares the tools of one answer to `tools/list` with their pins. Never throws. */
  see(result: JsonObject): void {
    for (const [tool, definition] of definitionsIn(result)) {
      if (this.#isKnown(tool, definition)) continue;
      if (this.#changed.has(tool) || this.#changed.size < tools_max) this.#changed.set(tool, definition);
      else this.#has_too_many = true;
    }
  }

  /**
   * Returns whether the definition is pinned, or already waits for people. If its pin cannot be used, it counts as
   * changed, so that its calls are refused with the reason.
   */
  #isKnown(tool: string, definition: Definition): boolean {
    const { store, note } = this.#options;
    try {
      const pinned = store.pinFirst(tool, definition);
      return isSame(pinned, definition) || isSame(this.#changed.get(tool), definition);
    } catch (error) {
      note(`calls of ${JSON.stringify(tool)} are refused: ${(error as Error).message}`);
      return false;
    }
  }

  /** Returns a client that decides on a call only after people accepted the tool's definition. */
  guarding(call: GuardedCall): CallDeps["client"] {
    const { client } = this.#options;
    return {
      ...client,
      submitIntent: async (...given) => {
        await this.#accepted(call);
        return client.submitIntent(...given);
      },
      getDecision: async (...given) => {
        await this.#accepted(call);
        return client.getDecision(...given);
      },
      claimIntent: async (intent_id, nonce, next_nonce) => {
        // A further round belongs to a call that was made before the change.
        const is_first = next_nonce === undefined;
        if (is_first && this.#changed.has(call.tool)) throw new Error(`${changed_meanwhile} Call the tool again.`);
        return client.claimIntent(intent_id, nonce, next_nonce);
      },
    };
  }

  /** Ends all waits. Open reviews stay for the next run. */
  end(): void {
    this.#ending.abort(new Cancelled());
  }

  async #accepted(call: GuardedCall): Promise<void> {
    const { tool } = call;
    if (this.#has_too_many) throw new Error(too_many);
    for (let now = this.#changed.get(tool); now !== undefined; now = this.#changed.get(tool)) {
      const was = this.#options.store.pinFirst(tool, now);
      // Another process may have asked people.
      if (!isSame(was, now)) await this.#answered(this.#questionAbout(call, was, now), call);
      if (this.#changed.get(tool) === now) this.#changed.delete(tool);
    }
  }

  #questionAbout({ tool, meta }: GuardedCall, was: Definition, now: Definition): Question {
    const known = this.#questions.get(tool);
    if (known?.about === now) return known;
    let onPending: (decision: Decision) => void = () => undefined;
    const pending = new Promise<Decision>((resolve) => {
      onPending = resolve;
    });
    const question = { about: now, pending, answer: this.#ask(tool, { was, now }, meta, onPending) };
    this.#questions.set(tool, question);
    const forget = () => {
      if (this.#questions.get(tool) === question) this.#questions.delete(tool);
    };
    // People are not asked again about a definition that they refused.
    question.answer.then(forget, (error: unknown) => isRefusedByPeople(error) || forget());
    return question;
  }

  async #ask(
    tool: string,
    { was, now }: Change,
    meta: JsonObject,
    onPending: (decision: Decision) => void,
  ): Promise<void> {
    const { store, client, mode, note, submissionOf } = this.#options;
    note(
      `the server changed the definition of its tool ${JSON.stringify(tool)}; people are asked before the next call`,
    );
    const accept = (_: unknown, { pipeline_mode, outcome }: Decision): void => {
      if (outcome !== "approve") throw new Error("A definition can only be approved as it is, and not changed.");
      // Shadow mode holds nothing, so nobody accepted the change. After the next listing it is recorded again.
      if (pipeline_mode !== "shadow") store.replace(tool, now);
    };
    await carryOut(client, submissionOf(tool, changeOf(was, now), meta), accept, {
      ...{ mode, onPending, signal: this.#ending.signal },
      onDoneBefore: (execution, intent_id) => {
        throw new ClaimedBefore(intent_id, execution);
      },
      onUnrecorded: (error, intent_id) => note(`the outcome of ${intent_id} could not be recorded: ${String(error)}`),
    });
  }

  /** Waits for the answer, at most as long as the call may wait. Shows the client that people are asked. */
  async #answered({ pending, answer }: Question, { signal, hold, ruled }: GuardedCall): Promise<void> {
    signal.throwIfAborted();
    let [endHold, is_over] = [(): void => undefined, false];
    void pending.then((decision) => {
      if (!is_over) endHold = hold(decision);
      const tellClient = () => ruled(decision);
      answer.then(tellClient, tellClient);
    });
    const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    try {
      await Promise.race([answer, aborted]);
    } finally {
      is_over = true;
      endHold();
    }
  }
}

const too_many = `The server changed more than ${tools_max} tools. Start countersign mcp again.`;

const changed_meanwhile = "The server changed the definition of this tool while the call waited.";

function isRefusedByPeople(error: unknown): boolean {
  return error instanceof ActionBlocked && error.decision.escalation_status === "decided";
}
