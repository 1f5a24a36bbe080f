/**
 * Governs the messages between a client and a server of the Model Context Protocol. Every `tools/call`,
 * `resources/read` and `prompts/get` is decided before the server gets it:
 *
 * - approve: the server gets the call unchanged; a reviewer's text is added to the answer
 * - approve_modified: the server gets the modified arguments, and the answer reports them
 * - block: the client gets an error result with the reasons (an error, if it asked for a task or a read)
 * - escalate: the call waits for people (`rounds/holding.ts`). An equal call continues with the same review
 * - no decision: the client gets an error result
 *
 * A call that the server answers with `input_required` or with a task stays one action: it is decided and claimed once,
 * and its outcome is recorded at the end. The client brings the state of its next round (`rounds/call-states.ts`).
 *
 * The governor lists the server's tools itself and refuses calls of unlisted tools. It refuses methods that differ from
 * a decided one only in case or white space, because a lenient server may accept them.
 *
 * All other messages pass. The governor serializes each client message from its parsed form, with the same digits. So
 * the server cannot read another call than the decided one.
 */
import type { Client } from "@countersign/sdk";
import { DecidedCalls } from "./calls/decided-calls.ts";
import { type Heard, isDecided } from "./calls/decided-requests.ts";
import { type CallDeps, errorText } from "./calls/governed-call.ts";
import { not_written, too_deep } from "./calls/refusals.ts";
import { type SubmissionOptions, Submissions } from "./calls/submissions.ts";
import { OwnRequests } from "./own-requests.ts";
import { PassedRequests } from "./passed-requests.ts";
import type { PinStore } from "./pins/pin-store.ts";
import { PinnedTools } from "./pins/pinned-tools.ts";
import { elementsIn, readExactly } from "./protocol/exact-json.ts";
import {
  almostReadMethod,
  errorCodes,
  idKey,
  isAnswer,
  isMessage,
  isObject,
  type JsonObject,
  type Message,
  metaOf,
  objectIn,
  type RequestId,
  refusal,
} from "./protocol/messages.ts";
import { CallStates } from "./rounds/call-states.ts";
import { Holding } from "./rounds/holding.ts";
import { isTaskMethod, Tasks } from "./rounds/tasks.ts";
import { withoutBlocked } from "./tools/hidden-tools.ts";
import { ToolList } from "./tools/tool-list.ts";

export interface GovernorOptions extends SubmissionOptions {
  readonly client: CallDeps["client"];
  readonly mode?: "shadow" | undefined;
  /** True: withdraw a call that the client cancels during its review. False: it stays in review for an equal call. */
  readonly withdraws: boolean;
  /** Given: people accept a changed definition of a tool before the next call of the tool. */
  readonly pins?: PinStore | undefined;
  /** Given: tools that are always blocked are left out of lists. */
  readonly findBlockedTools?: Client["findBlockedTools"] | undefined;
  readonly wait_ms: number;
  readonly progress_ms: number;
  /** The console's address, for links to reviews. */
  readonly console_url: string;
  /** Seals the states of calls. It outlives this process, and only this proxy's user has it. */
  readonly state_secret: string;
  /** The wall clock. */
  readonly now_ms: () => number;
  /** Each takes one message as a line of JSON. */
  readonly toServer: (line: string) => void;
  readonly toClient: (line: string) => void;
  readonly note: (text: string) => void;
}

export interface Governor {
  fromClient(line: string): void;
  fromServer(line: string): void;
  /**
   * Ends after the client closed, or after the server ended: waiting calls end, and calls at the server end as failed.
   * After `server` the client gets answers to its calls. Resolves when everything is recorded.
   */
  end(ended_first?: "client" | "server"): Promise<void>;
}

/** Messages in one array of the client. Each answer may be longer than its message. */
const messages_max = 1_000;

export function createGovernor(options: GovernorOptions): Governor {
  const governor = new ConnectionGovernor(options);
  return {
    fromClient: (line) => governor.fromClient(line),
    fromServer: (line) => governor.fromServer(line),
    end: (ended_first) => governor.end(ended_first),
  };
}

class ConnectionGovernor implements Governor {
  readonly #options: GovernorOptions;
  readonly #submissions: Submissions;
  readonly #tools: ToolList;
  readonly #own: OwnRequests;
  readonly #holding: Holding;
  readonly #tasks: Tasks;
  readonly #pinned: PinnedTools | null;
  readonly #calls: DecidedCalls;
  readonly #passed = new PassedRequests();
  /** Calls and records that `end` waits for. */
  readonly #under_way = new Set<Promise<unknown>>();
  #is_over = false;

  constructor(options: GovernorOptions) {
    this.#options = options;
    const { pins: store, mode, note } = options;
    const client: CallDeps["client"] = {
      ...options.client,
      recordObservation: (...given) => this.#keep(options.client.recordObservation(...given)),
    };
    const submissions = new Submissions(options);
    const submissionOf = submissions.toolChange.bind(submissions);
    const pinned = store === undefined ? null : new PinnedTools({ client, submissionOf, store, mode, note });
    this.#own = new OwnRequests(options.toServer);
    const tools = new ToolList(
      (params) => this.#own.ask("tools/list", params),
      (result) => pinned?.see(result),
    );
    const states = new CallStates(options.state_secret, options.now_ms);
    const holding = new Holding(options, states, (message) => this.#send(message));
    const tasks = new Tasks((intent_id, observation) => {
      client.recordObservation(intent_id, observation).catch((error: unknown) => {
        note(`the outcome of ${intent_id} could not be recorded: ${errorText(error)}`);
      });
    });
    const { toServer, toClient, withdraws } = options;
    const keep = this.#keep.bind(this);
    this.#calls = new DecidedCalls({
      ...{ client, mode, note, toServer, toClient, withdraws, keep },
      ...{ submissions, tools, pinned, states, holding, tasks },
    });
    this.#submissions = submissions;
    this.#tools = tools;
    this.#holding = holding;
    this.#tasks = tasks;
    this.#pinned = pinned;
  }

  fromClient(line: string): void {
    if (this.#is_over) return;
    const elements = elementsIn(line);
    if (elements.length > messages_max) return void this.#send(refusal(null, errorCodes.invalid_request, too_long));
    for (const each of elements.length === 0 ? [line] : elements) this.#parse(each);
  }

  fromServer(line: string): void {
    const elements = elementsIn(line);
    // A nested array is not an answer, but alone a client would read it as one.
    for (const each of elements.length === 0 ? [line] : elements)
      if (each.startsWith("[") && elements.length > 0) this.#options.toClient(`[${each}]`);
      else this.#takeAnswer(each);
  }

  async end(ended_first: "client" | "server" = "client"): Promise<void> {
    this.#is_over = true;
    this.#calls.end(ended_first);
    this.#pinned?.end();
    while (this.#under_way.size > 0) await Promise.allSettled(this.#under_way);
  }

  #send(message: JsonObject): void {
    this.#options.toClient(JSON.stringify(message));
  }

  #keep<Value>(promise: Promise<Value>): Promise<Value> {
    const over = () => void this.#under_way.delete(promise);
    this.#under_way.add(promise);
    promise.then(over, over);
    return promise;
  }

  #parse(text: string): void {
    let read: unknown;
    try {
      read = JSON.parse(text);
    } catch {
      return void this.#send(refusal(null, errorCodes.parse_error, "This is not one JSON text on a line."));
    }
    const refuse = (id: RequestId | null, why: string) => this.#send(refusal(id, errorCodes.invalid_request, why));
    if (!isMessage(read)) return void refuse(null, "This is not a message of JSON-RPC 2.0.");
    try {
      const { value, write, inexactIn } = readExactly(text);
      const answer = (said: JsonObject) => this.#options.toClient(write(said));
      this.#take({ message: read, exact: value as Message, write, inexactIn, answer });
    } catch (error) {
      // A parsed text may be too deep or too large to serialize.
      if (!(error instanceof RangeError)) throw error;
      refuse(read.id ?? null, too_deep);
    }
  }

  #take(heard: Heard): void {
    const { message, exact, write, answer } = heard;
    const { id, method, params = {} } = message;
    const almost = method === undefined ? null : almostReadMethod(method);
    if (almost !== null) return void this.#refuseMethod(heard, almost);
    const is_call = isDecided(method);
    const is_taken = (other: RequestId): boolean =>
      this.#calls.has(idKey(other)) || this.#own.has(idKey(other)) || (is_call && this.#passed.has(other));
    if (id !== undefined && method !== undefined && is_taken(id))
      return void answer(refusal(exact.id ?? null, errorCodes.invalid_request, "A request with this id is under way."));
    if (is_call) return void this.#calls.take(heard);
    if (id !== undefined && method === undefined && this.#holding.take(id)) return;
    if (method === "notifications/cancelled" && this.#calls.cancel(params["requestId"])) return;
    if (method === "initialize") {
      this.#submissions.clientIs(params["clientInfo"]);
      this.#holding.clientIs(params["capabilities"]);
    }
    this.#options.toServer(write(exact));
    if (id === undefined || method === undefined) return;
    this.#passed.begin(id, { learn: this.#lessonOf(method, params), change: this.#changeOf(method, params) });
  }

  /** Refuses a method that a lenient server may take for one that the governor reads. */
  #refuseMethod({ message, exact, answer }: Heard, almost: string): void {
    const text = `Method not found: this is not ${almost}, but differs from it only in case, white space or hidden characters.`;
    if (message.id === undefined) this.#options.note(`a notification was dropped: its method is almost ${almost}`);
    else answer(refusal(exact.id ?? null, errorCodes.method_not_found, text));
  }

  /** Returns how to learn from the result of the client's request, or undefined. */
  #lessonOf(method: string, { cursor, taskId }: JsonObject): ((result: JsonObject) => void) | undefined {
    if (method === "initialize") return (result) => this.#submissions.serverIs(result);
    if (isTaskMethod(method)) return (result) => this.#tasks.learn(method, String(taskId), result);
    return method === "tools/list" ? (result) => this.#tools.learn(result, cursor) : undefined;
  }

  /** Returns how to change the answer to the client's request, or undefined. */
  #changeOf(method: string, params: JsonObject): ((line: string) => string | Promise<string>) | undefined {
    if (isTaskMethod(method)) return this.#tasks.additionTo(method, String(params["taskId"]));
    const { findBlockedTools: find, membrane_id, mode, note } = this.#options;
    if (method !== "tools/list" || find === undefined || mode === "shadow") return undefined;
    const agent_id = this.#submissions.agentId(metaOf(params));
    const asked = { agent_id, ...(membrane_id !== undefined && { membrane_id }) };
    return (line) => withoutBlocked(line, (verbs) => find({ ...asked, verbs }), note);
  }

  #takeAnswer(line: string): void {
    const { toClient } = this.#options;
    const message = objectIn(line);
    if (message?.["method"] === "notifications/tools/list_changed") this.#tools.changed();
    if (message === null) return void toClient(line);
    if (!isAnswer(message)) return void toClient(this.#tasks.notified(message, line));
    const { id, result } = message;
    if (isObject(result)) this.#submissions.serverSays(result);
    if (this.#own.take(message) || this.#calls.takeAnswer(message, line, this.#passed.has(id))) return;
    try {
      const answer = this.#passed.take(message, line);
      if (typeof answer === "string") toClient(answer);
      else void this.#keep(answer.then(toClient));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#send(refusal(id, errorCodes.no_result, not_written));
    }
  }
}

const too_long = `Nothing was done: this array has more than ${messages_max} messages.`;
