/**
 * The calls and reads of a client that have no answer yet. A call is `deciding`, then `made` when the server has it. The
 * decision, the server's answer, a cancellation by the client, and `end` change its state.
 */
import type { IntentSubmission } from "@countersign/contract";
import type { PinnedTools } from "../pins/pinned-tools.ts";
import {
  type Answer,
  errorCodes,
  idKey,
  isId,
  type JsonObject,
  metaOf,
  noResult,
  protocolMeta,
  refusal,
} from "../protocol/messages.ts";
import { type CallStates, StateRefused } from "../rounds/call-states.ts";
import type { Holding } from "../rounds/holding.ts";
import { paramsFor } from "../rounds/steps.ts";
import type { Tasks } from "../rounds/tasks.ts";
import { traceOf } from "../rounds/trace-context.ts";
import type { KnownTool } from "../tools/known-tools.ts";
import type { ToolList } from "../tools/tool-list.ts";
import { againOf, type CheckedRequest, checkRequest, type Heard } from "./decided-requests.ts";
import { type Answered, type CallDeps, Cancelled, Disconnected, governCall, ServerEnded } from "./governed-call.ts";
import { too_deep } from "./refusals.ts";
import { readingTool, type Submissions } from "./submissions.ts";

interface DecidedCallsDeps extends Pick<CallDeps, "client" | "mode" | "withdraws" | "toClient" | "note"> {
  readonly toServer: (line: string) => void;
  readonly submissions: Submissions;
  readonly tools: ToolList;
  readonly pinned: PinnedTools | null;
  readonly states: CallStates;
  readonly holding: Holding;
  readonly tasks: Tasks;
  /** Makes the end of the governor wait for this. */
  readonly keep: (promise: Promise<unknown>) => void;
}

interface Call {
  readonly deciding: AbortController;
  /** Null: the server has not got the call. */
  answered: ((answer: Answered) => void) | null;
}

/** Calls that are decided on or made at the same time. */
const calls_max = 256;

const too_many = `Nothing was done: ${calls_max} calls are under way. Call again when some of them have ended.`;

export class DecidedCalls {
  readonly #deps: DecidedCallsDeps;
  readonly #calls = new Map<string, Call>();

  constructor(deps: DecidedCallsDeps) {
    this.#deps = deps;
  }

  has(key: string): boolean {
    return this.#calls.has(key);
  }

  /** Decides on a client's call or read, and answers it. */
  take(heard: Heard): void {
    const { message, exact, write, answer } = heard;
    const { id } = exact;
    const { note, tools, keep } = this.#deps;
    if (message.id === undefined || id === undefined)
      return void note(`a ${message.method} without an id was dropped: nobody would get its result`);
    const asked = checkRequest(heard);
    if ("refused" in asked) return void answer(asked.refused);
    if (this.#calls.size >= calls_max) return void answer(refusal(id, errorCodes.no_result, too_many));
    write(exact); // Throws before the decision if the call cannot be serialized.
    const { key, method, verb } = asked;
    const call: Call = { deciding: new AbortController(), answered: null };
    this.#calls.set(key, call);
    const is_known = method !== "tools/call" || tools.get(verb) !== undefined;
    const governed = is_known ? this.#govern(heard, asked, call) : this.#listFirst(heard, asked, call);
    keep(governed.finally(() => this.#calls.delete(key)));
  }

  /** Returns false if the server must get the client's cancellation, too. */
  cancel(id: unknown): boolean {
    const cancelled = isId(id) ? this.#calls.get(idKey(id)) : undefined;
    if (cancelled === undefined) return false;
    cancelled.deciding.abort(new Cancelled());
    cancelled.answered?.(ended("The client cancelled it while it ran."));
    return cancelled.answered === null;
  }

  /** Returns false if the server's answer belongs to no call. `is_other`: another request has its id. */
  takeAnswer(message: Answer, line: string, is_other: boolean): boolean {
    // The protocol's own client reads "1" as the answer to 1, unless it has a request with the id "1".
    const as_number = is_other ? undefined : this.#calls.get(idKey(Number(message.id)));
    const call = this.#calls.get(idKey(message.id)) ?? as_number;
    if (call === undefined) return false;
    if (call.answered === null) this.#deps.note("an answer was dropped: the server has not received that call");
    else call.answered({ message, line });
    return true;
  }

  end(ended_first: "client" | "server"): void {
    for (const { deciding, answered } of this.#calls.values()) {
      deciding.abort(ended_first === "server" ? new ServerEnded() : new Disconnected());
      answered?.(ended("The connection ended while it ran."));
    }
  }

  /** Lists the server's tools first if the tool is unknown. */
  async #listFirst(heard: Heard, asked: CheckedRequest, call: Call): Promise<void> {
    const { as, verb: name } = asked;
    const { signal } = call.deciding;
    const { tools, note } = this.#deps;
    const cancelled = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    try {
      await Promise.race([tools.list(protocolMeta(heard.message.params ?? {})), cancelled]);
    } catch (error) {
      const text = `Nothing was done: the server did not list its tools: ${(error as Error).message}`;
      note(text);
      if (!signal.aborted) heard.answer(noResult(as, text));
      return;
    }
    if (signal.reason instanceof ServerEnded) return void heard.answer(noResult(as, signal.reason.message));
    if (signal.aborted) return;
    if (tools.get(name) !== undefined) return this.#govern(heard, asked, call);
    note(`a call of a tool that the server does not list was refused: ${JSON.stringify(name)}`);
    heard.answer(refusal(as.id, errorCodes.invalid_params, `Unknown tool: ${name}`));
  }

  /** Decides on a read or a call of a listed tool, and makes it if allowed. */
  async #govern(heard: Heard, asked: CheckedRequest, call: Call): Promise<void> {
    const { params = {} } = heard.message;
    const { as, method } = asked;
    const { deciding } = call;
    const { signal } = deciding;
    const { states, holding, tasks, toServer, toClient, note, mode, withdraws } = this.#deps;
    const submission = this.#submissionFor(asked, metaOf(params));
    try {
      const state = asked.state === undefined ? null : states.open(asked.state, submission);
      const hold = holding.begin({ heard, asked, submission, state, deciding });
      if (hold.refused !== null) return void heard.answer(hold.refused);
      const round = state?.kind === "round" ? state : null;
      const terms = { submission, review: hold.review, round, trace: traceOf(params), signal };
      const client = this.#clientFor(asked, metaOf(params), signal, hold);
      const deps: CallDeps = {
        ...{ client, toClient, answer: heard.answer, note, mode, withdraws, ...hold.deps },
        forward: (content) =>
          new Promise((resolve) => {
            call.answered = resolve;
            const made_with = paramsFor(method, heard.exact.params ?? {}, content, round);
            toServer(heard.write({ jsonrpc: "2.0", id: as.id, method, params: made_with }));
          }),
        sealed: (next) => states.close(next, submission),
        beginTask: (...task) => tasks.begin(...task),
      };
      await governCall(deps, { ...as, ...terms });
    } catch (error) {
      // `governCall` never rejects, so the call was not made.
      if (error instanceof StateRefused)
        heard.answer(
          refusal(as.id, errorCodes.invalid_params, `Nothing was done: ${error.message}. ${againOf(method)}.`),
        );
      else if (error instanceof RangeError) heard.answer(refusal(as.id, errorCodes.invalid_request, too_deep));
      else throw error;
    }
  }

  /** A call of a tool with a changed definition waits for people first. */
  #clientFor(
    { as, verb: tool }: CheckedRequest,
    meta: JsonObject,
    signal: AbortSignal,
    { definition }: ReturnType<Holding["begin"]>,
  ): CallDeps["client"] {
    const { client, pinned } = this.#deps;
    return as.is_read || pinned === null ? client : pinned.guarding({ tool, meta, signal, ...definition });
  }

  #submissionFor({ as, verb, content }: CheckedRequest, meta: JsonObject): IntentSubmission {
    const { submissions, tools } = this.#deps;
    if (as.is_read) return submissions.of({ verb, type: "data.read" }, readingTool, content, meta);
    return submissions.of({ verb }, tools.get(verb) as KnownTool, content, meta);
  }
}

/** Returns an answer for the record, instead of one that will not come. */
function ended(message: string): Answered {
  return { message: { error: { message } }, line: "" };
}
