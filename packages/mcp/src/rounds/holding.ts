/**
 * Holds calls for people. How the client waits depends on what it can do:
 *
 * - Revision 2026-07-28 with URL elicitation: the first answer asks the client to open the page of the review and to call
 *   again with a state. That call waits. If it waits too long, the client gets a state to come back with by itself.
 * - Revision 2025-11-25 with URL elicitation: the client is asked to open the page while the call waits.
 * - Others: the call waits, and then its answer asks the model to call again.
 */
import type { IntentSubmission } from "@countersign/contract";
import { againOf, type CheckedRequest, type Heard } from "../calls/decided-requests.ts";
import { type CallDeps, StillPending } from "../calls/governed-call.ts";
import { reportProgress } from "../calls/progress.ts";
import { type JsonObject, noResult, type RequestId } from "../protocol/messages.ts";
import { sortedJson } from "../protocol/sorted-json.ts";
import { remember } from "../remember.ts";
import type { CallState, CallStates, WaitState } from "./call-states.ts";
import { isDeclined, ReviewLinks, requestsFor } from "./review-links.ts";

interface HoldingOptions {
  readonly console_url: string;
  readonly wait_ms: number;
  readonly progress_ms: number;
  readonly now_ms: () => number;
}

interface HeldCall {
  readonly heard: Heard;
  readonly asked: CheckedRequest;
  readonly submission: IntentSubmission;
  readonly state: CallState | null;
  readonly deciding: AbortController;
}

interface Hold {
  /** An earlier intent for this call that is still in review. */
  readonly review: string | null;
  /** The answer to a call that does not wait any longer. */
  readonly refused: JsonObject | null;
  /** Waits, in the same way, until people accept the changed definition of the call's tool. */
  readonly definition: Pick<CallDeps, "hold" | "ruled">;
  readonly deps: Pick<CallDeps, "hold" | "ruled" | "comeBack" | "leave">;
}

/** People must decide on it. */
interface Subject {
  /** In words, for the client's user. */
  readonly about: string;
  /** For the model, after the wait. */
  readonly text: string;
  /** The client's user was asked to open the page of this review before. */
  readonly isShown: (escalation_id: string | null) => boolean;
}

interface Limit {
  readonly inWords: string;
  /** The rest of the time that the call may wait. It begins with the first wait. */
  readonly rest_ms: () => number;
}

/** Clients such as the protocol's own give up after 10 rounds, and the model would not know why. */
const rounds_max = 8;

const changed_definition = "The server changed the definition of this tool.";

const declined = "The page of the review was not opened. A person must still decide on this, and nothing was done.";

export class Holding {
  readonly #options: HoldingOptions;
  readonly #states: CallStates;
  readonly #links: ReviewLinks;
  /**
   * Open reviews that no call waits for, by call. An equal call of this process resumes them, so that it stays one
   * intent. After a restart the service joins both to one review (decision 0037).
   */
  readonly #reviews = new Map<string, string>();

  constructor(options: HoldingOptions, states: CallStates, send: (message: JsonObject) => void) {
    this.#options = options;
    this.#states = states;
    this.#links = new ReviewLinks(options.console_url, send);
  }

  clientIs(capabilities: JsonObject[string]): void {
    this.#links.clientIs(capabilities);
  }

  /** Returns false if the client's answer belongs to the server. */
  take(id: RequestId): boolean {
    return this.#links.take(id);
  }

  begin(call: HeldCall): Hold {
    const { heard, asked, submission, state } = call;
    const { as, method, verb } = asked;
    const { agent, payload } = submission.intent;
    const question = sortedJson([agent.id, method, verb, payload?.content]);
    const known = state === null ? (this.#reviews.get(question) ?? null) : null;
    if (known !== null) this.#reviews.delete(question);
    const wait = state?.kind === "wait" ? state : null;
    const review = wait?.review ?? known;
    const leave = (intent_id: string) => remember(this.#reviews, question, intent_id);
    const is_declined = wait !== null && isDeclined(heard.message.params ?? {});
    if (is_declined && review !== null) leave(review);
    const ruled: CallDeps["ruled"] = ({ escalation_id }) => this.#links.ruled(this.#links.pageOf(escalation_id));
    const limit = this.#limit();
    const again = `${againOf(method)} to continue waiting.`;
    const held: Subject = {
      about: subjectOf(asked),
      text: `A person must decide on this and has not within ${limit.inWords}. Nothing was done. ${again}`,
      isShown: () => review !== null,
    };
    const changed: Subject = {
      about: `the changed definition of the tool ${quoted(verb)}`,
      text: `${changed_definition} A person must accept the change and has not yet. Nothing was done. ${again}`,
      isShown: (escalation_id) => wait !== null && wait.shown === escalation_id,
    };
    return {
      review,
      refused: is_declined ? noResult(as, `${declined} ${again}`, wait.intent_id) : null,
      definition: { ruled, hold: this.#holdOf(call, changed, limit) },
      deps: {
        leave,
        ruled,
        hold: this.#holdOf(call, held, limit),
        comeBack: this.#comeBackOf(call, wait, { held, changed }),
      },
    };
  }

  /** One time limit for all that a call waits for. */
  #limit(): Limit {
    const { wait_ms, now_ms } = this.#options;
    let began_ms: number | null = null;
    return {
      inWords: `${Math.round(wait_ms / 1000)} s`,
      rest_ms: () => {
        began_ms ??= now_ms();
        return Math.max(0, wait_ms - Math.max(0, now_ms() - began_ms));
      },
    };
  }

  #holdOf({ heard, asked, deciding }: HeldCall, subject: Subject, limit: Limit): CallDeps["hold"] {
    const { message, exact, answer } = heard;
    const { as } = asked;
    return (decision) => {
      const { escalation_id } = decision;
      const page = this.#links.pageOf(escalation_id);
      const text = `${subject.text} The review: ${page}`;
      const shows = !subject.isShown(escalation_id) && this.#links.canShow(message.params ?? {}, as.typed);
      if (shows && as.typed) {
        deciding.abort(new StillPending(text, decision, true));
        return () => undefined;
      }
      const endProgress = reportProgress(exact.params ?? {}, this.#options.progress_ms, answer);
      const timer = setTimeout(() => deciding.abort(new StillPending(text, decision, false)), limit.rest_ms());
      if (shows) this.#links.show(page, subject.about);
      return () => {
        endProgress();
        clearTimeout(timer);
      };
    };
  }

  #comeBackOf(
    { heard, asked, submission }: HeldCall,
    wait: WaitState | null,
    { held, changed }: Readonly<Record<"held" | "changed", Subject>>,
  ): CallDeps["comeBack"] {
    return (review, { intent_id, escalation_id, shows }) => {
      const { params = {} } = heard.message;
      const { id, typed } = asked.as;
      const rounds = 1 + (wait?.rounds ?? 0);
      if (!typed || rounds > rounds_max || !this.#links.canShow(params, true)) return null;
      const { about } = intent_id === review ? held : changed;
      const inputRequests = shows ? requestsFor(this.#links.pageOf(escalation_id), about) : undefined;
      const shown = shows ? escalation_id : (wait?.shown ?? null);
      const requestState = this.#states.close({ kind: "wait", review, intent_id, shown, rounds }, submission);
      return { jsonrpc: "2.0", id, result: { resultType: "input_required", inputRequests, requestState } };
    };
  }
}

/** Names in messages to people are cut after this. */
const quoted_chars_max = 200;

function quoted(name: unknown): string {
  const text = String(name);
  return JSON.stringify(text.length > quoted_chars_max ? `${text.slice(0, quoted_chars_max)}…` : text);
}

function subjectOf({ method, verb, content }: CheckedRequest): string {
  if (method === "resources/read") return `the read of ${quoted(content["uri"])}`;
  return method === "prompts/get" ? `the prompt ${quoted(content["name"])}` : `the call of ${quoted(verb)}`;
}
