/**
 * Governs the messages between a client and a server of the Model Context Protocol. Every `tools/call` is decided
 * before the server gets it:
 *
 * - approve: the server gets the call unchanged; a reviewer's text is added to the answer
 * - approve_modified: the server gets the modified arguments, and the answer reports them
 * - block: the client gets an error result with the reasons (an error, if it asked for a task)
 * - escalate: the client waits and gets progress notifications. After `wait_ms` a result tells it to call again; an
 *   equal call then waits for the same review
 * - no decision: the client gets an error result
 *
 * The governor lists the server's tools itself and refuses calls of unlisted tools. It refuses methods that differ from
 * `tools/call` only in case or white space, because a lenient server may accept them.
 *
 * All other messages pass. The governor serializes each client message from its parsed form, with the same digits. So
 * the server cannot read another call than the decided one.
 *
 * State: calls without an answer, by id. A call is `deciding`, then `made` when the server has it. The decision, the
 * server's answer, a cancellation by the client, and `end` change the state.
 */
import { elementsIn, readExactly } from "./exact-json.ts";
import { type Answered, type CallDeps, Cancelled, governCall, StillPending } from "./governed-call.ts";
import type { KnownTool } from "./known-tools.ts";
import {
  type Asked,
  almostReadMethod,
  askedBy,
  errorCodes,
  hasLookAlike,
  hasTwins,
  idKey,
  isAnswer,
  isId,
  isMessage,
  isObject,
  type Json,
  type JsonObject,
  type Message,
  metaOf,
  noResult,
  objectIn,
  protocolMeta,
  type RequestId,
  refusal,
} from "./messages.ts";
import { OwnRequests } from "./own-requests.ts";
import { reportProgress } from "./progress.ts";
import { type SubmissionOptions, Submissions } from "./submissions.ts";
import { ToolList } from "./tool-list.ts";

export interface GovernorOptions extends SubmissionOptions {
  readonly client: CallDeps["client"];
  readonly mode?: "shadow" | undefined;
  /** True: withdraw a call that the client cancels during its review. False: it stays in review for an equal call. */
  readonly withdraws: boolean;
  readonly wait_ms: number;
  readonly progress_ms: number;
  /** Each takes one message as a line of JSON. */
  readonly toServer: (line: string) => void;
  readonly toClient: (line: string) => void;
  readonly note: (text: string) => void;
}

export interface Governor {
  fromClient(line: string): void;
  fromServer(line: string): void;
  /**
   * Ends after the client closed: waiting calls end, and calls at the server end as failed. Resolves when everything is
   * recorded.
   */
  end(): Promise<void>;
}

/** A client's message: parsed, and with the digits of its numbers (`exact`). */
interface Heard {
  readonly message: Message;
  readonly exact: Message;
  readonly write: (value: JsonObject) => string;
  /** Returns the place of the first number that would be rounded; null: none. */
  readonly inexactIn: (part: Json | undefined) => string | null;
  /** Sends the client a message that contains parts of `exact`. */
  readonly answer: (said: JsonObject) => void;
}

interface Call {
  readonly deciding: AbortController;
  /** Null: the server has not got the call. */
  answered: ((answer: Answered) => void) | null;
}

/** Another request without an answer: what to learn from its result, and what to add to it. */
interface OtherRequest {
  readonly learn: ((result: JsonObject) => void) | undefined;
  readonly add: ((line: string) => string) | undefined;
}

interface AskedTool {
  readonly key: string;
  readonly as: Asked;
  readonly name: string;
  readonly given: JsonObject;
}

/** Calls that are decided on or made at the same time. */
const calls_max = 256;
/** Messages in one array of the client. Each answer may be longer than its message. */
const messages_max = 1_000;
/** For each of: reviews, tasks, other requests. */
const remembered_max = 1_000;

export function createGovernor(options: GovernorOptions): Governor {
  const governor = new ConnectionGovernor(options);
  return {
    fromClient: (line) => governor.fromClient(line),
    fromServer: (line) => governor.fromServer(line),
    end: () => governor.end(),
  };
}

class ConnectionGovernor implements Governor {
  readonly #options: GovernorOptions;
  readonly #client: CallDeps["client"];
  readonly #submissions: Submissions;
  readonly #tools: ToolList;
  readonly #own: OwnRequests;
  /** Calls and records that `end` waits for. */
  readonly #under_way = new Set<Promise<unknown>>();
  readonly #calls = new Map<string, Call>();
  readonly #requests = new Map<string, OtherRequest>();
  /** Additions to the results of tasks, by task id. */
  readonly #additions = new Map<string, (line: string) => string>();
  /** Open reviews that no call waits for, by agent, tool and arguments. */
  readonly #reviews = new Map<string, string>();
  #is_over = false;

  constructor(options: GovernorOptions) {
    this.#options = options;
    this.#submissions = new Submissions(options);
    this.#own = new OwnRequests(options.toServer);
    this.#tools = new ToolList((params) => this.#own.ask("tools/list", params));
    this.#client = {
      ...options.client,
      recordObservation: (...given) => this.#hold(options.client.recordObservation(...given)),
    };
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

  async end(): Promise<void> {
    this.#is_over = true;
    for (const { deciding, answered } of this.#calls.values()) {
      deciding.abort(new Cancelled());
      answered?.(ended("The connection ended while it ran."));
    }
    while (this.#under_way.size > 0) await Promise.allSettled(this.#under_way);
  }

  #send(message: JsonObject): void {
    this.#options.toClient(JSON.stringify(message));
  }

  #hold<Held>(promise: Promise<Held>): Promise<Held> {
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
      refuse(read.id ?? null, "This is nested too deep, or too large.");
    }
  }

  #take(heard: Heard): void {
    const { message, exact, write, answer } = heard;
    const { id, method, params = {} } = message;
    const almost = method === undefined ? null : almostReadMethod(method);
    if (almost !== null) return void this.#refuseMethod(heard, almost);
    const is_call = method === "tools/call";
    const is_taken = (key: string) =>
      this.#calls.has(key) || this.#own.has(key) || (is_call && this.#requests.has(key));
    if (id !== undefined && method !== undefined && is_taken(idKey(id)))
      return void answer(refusal(exact.id ?? null, errorCodes.invalid_request, "A request with this id is under way."));
    if (is_call) return void this.#takeCall(heard);
    if (method === "notifications/cancelled" && this.#cancel(params["requestId"])) return;
    if (method === "initialize") this.#submissions.clientIs(params["clientInfo"]);
    this.#options.toServer(write(exact));
    if (id === undefined || method === undefined) return;
    const add = method === "tasks/result" ? this.#additions.get(String(params["taskId"])) : undefined;
    remember(this.#requests, idKey(id), { learn: this.#lessonOf(method, params), add });
  }

  /** Refuses a method that a lenient server may take for one that the governor reads. */
  #refuseMethod({ message, exact, answer }: Heard, almost: string): void {
    const text = `Method not found: this is not ${almost}, but differs from it only in case, white space or hidden characters.`;
    if (message.id === undefined) this.#options.note(`a notification was dropped: its method is almost ${almost}`);
    else answer(refusal(exact.id ?? null, errorCodes.method_not_found, text));
  }

  /** Returns how to learn from the result of the client's request, or undefined. */
  #lessonOf(method: string, { cursor }: JsonObject): OtherRequest["learn"] {
    if (method === "initialize") return (result) => this.#submissions.serverIs(result);
    return method === "tools/list" ? (result) => this.#tools.learn(result, cursor) : undefined;
  }

  /** Returns false if the server must get the notification, too. */
  #cancel(id: unknown): boolean {
    const cancelled = isId(id) ? this.#calls.get(idKey(id)) : undefined;
    if (cancelled === undefined) return false;
    cancelled.deciding.abort(new Cancelled());
    cancelled.answered?.(ended("The client cancelled it while it ran."));
    return cancelled.answered === null;
  }

  #takeCall(heard: Heard): void {
    const asked = this.#checked(heard);
    if (asked === null) return;
    heard.write(heard.exact); // Throws before the decision if the call cannot be serialized.
    const { key, name } = asked;
    const call: Call = { deciding: new AbortController(), answered: null };
    this.#calls.set(key, call);
    const governed =
      this.#tools.get(name) === undefined ? this.#listFirst(heard, asked, call) : this.#govern(heard, asked, call);
    this.#hold(governed.finally(() => this.#calls.delete(key)));
  }

  /** Lists the server's tools first if the tool is unknown. */
  async #listFirst(heard: Heard, asked: AskedTool, call: Call): Promise<void> {
    const { as, name } = asked;
    const { signal } = call.deciding;
    const cancelled = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    try {
      await Promise.race([this.#tools.list(protocolMeta(heard.message.params ?? {})), cancelled]);
    } catch (error) {
      const text = `Nothing was done: the server did not list its tools: ${(error as Error).message}`;
      this.#options.note(text);
      if (!signal.aborted) heard.answer(noResult(as, text));
      return;
    }
    if (signal.aborted) return;
    if (this.#tools.get(name) !== undefined) return this.#govern(heard, asked, call);
    this.#options.note(`a call of a tool that the server does not list was refused: ${JSON.stringify(name)}`);
    heard.answer(refusal(as.id, errorCodes.invalid_params, `Unknown tool: ${name}`));
  }

  /** Decides on a call of a listed tool, and makes it if allowed. */
  #govern(heard: Heard, asked: AskedTool, call: Call): Promise<void> {
    const { params = {} } = heard.message;
    const { as, name, given } = asked;
    const submission = this.#submissions.of(name, this.#tools.get(name) as KnownTool, given, metaOf(params));
    const question = JSON.stringify([submission.intent.agent.id, name, given]);
    const review = this.#reviews.get(question) ?? null;
    this.#reviews.delete(question);
    const { signal } = call.deciding;
    return governCall(this.#callDeps(heard, call, question), { ...as, submission, review, signal });
  }

  /** Answers a call that cannot be decided, and returns null for it. */
  #checked({ message, exact, inexactIn, answer }: Heard): AskedTool | null {
    const { params = {} } = message;
    const { name, arguments: given = {} } = params;
    const { id } = exact;
    const refuse = (said: JsonObject): null => {
      answer(said);
      return null;
    };
    if (message.id === undefined || id === undefined) {
      this.#options.note("a call of a tool without an id was dropped: nobody would get its result");
      return null;
    }
    if (typeof name !== "string" || !isObject(given) || hasLookAlike(params, ["name", "arguments", "task"])) {
      const text = "Give the tool's name, and its arguments as an object.";
      return refuse(refusal(id, errorCodes.invalid_params, text));
    }
    const as = askedBy(id, params);
    const inexact = inexactIn(exact.params?.["arguments"]);
    if (inexact !== null) return refuse(noResult(as, tooManyDigits(inexact)));
    if (hasTwins(given)) return refuse(noResult(as, twins));
    if (this.#calls.size >= calls_max) return refuse(refusal(id, errorCodes.no_result, too_many));
    return { key: idKey(message.id), as, name, given };
  }

  #callDeps({ message, exact, write, answer }: Heard, call: Call, question: string): CallDeps {
    const { mode, withdraws, toClient, toServer, note, progress_ms, wait_ms } = this.#options;
    const { method, params: asked = {} } = message;
    const { id, params = {} } = exact;
    return {
      ...{ client: this.#client, toClient, answer, note, mode, withdraws },
      forward: (content) =>
        new Promise((resolve) => {
          call.answered = resolve;
          const none = asked["arguments"] === undefined && Object.keys(content).length === 0;
          const made_with = none ? params : { ...params, arguments: content };
          toServer(write({ jsonrpc: "2.0", id, method, params: made_with }));
        }),
      wait: () => {
        const endProgress = reportProgress(params, progress_ms, answer);
        const limit = setTimeout(() => call.deciding.abort(new StillPending(wait_ms)), wait_ms);
        return () => {
          endProgress();
          clearTimeout(limit);
        };
      },
      addLater: (task_id, add) => remember(this.#additions, task_id, add),
      leave: (intent_id) => remember(this.#reviews, question, intent_id),
    };
  }

  #takeAnswer(line: string): void {
    const { toClient, note } = this.#options;
    const message = objectIn(line);
    if (message?.["method"] === "notifications/tools/list_changed") this.#tools.changed();
    if (message === null || !isAnswer(message)) return void toClient(line);
    const { result } = message;
    if (isObject(result)) this.#submissions.serverSays(result);
    if (this.#own.take(message)) return;
    const key = idKey(message.id);
    const other = this.#requests.get(key);
    // The protocol's own client reads "1" as the answer to 1, unless it has a request with the id "1".
    const call = this.#calls.get(key) ?? (other === undefined ? this.#calls.get(idKey(Number(message.id))) : undefined);
    if (call?.answered === null) return void note("an answer was dropped: the server has not received that call");
    if (call !== undefined) return void call.answered({ message, line });
    this.#requests.delete(key);
    if (isObject(result)) other?.learn?.(result);
    try {
      toClient(other?.add?.(line) ?? line);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.#send(refusal(message.id, errorCodes.no_result, not_written));
    }
  }
}

const tooManyDigits = (path: string): string =>
  `Nothing was done: the number at ${path} of the arguments has more digits than a number keeps, and would be rounded. Send it as a text.`;

const twins =
  "Nothing was done: two names in one object of the arguments differ only in case, and servers may treat them as one. Send only one of them.";

const not_written =
  "The call was made, perhaps with changed arguments, but its result cannot be passed on: it is too large or nested too deep.";

const too_long = `Nothing was done: this array has more than ${messages_max} messages.`;

const too_many = `Nothing was done: ${calls_max} calls are under way. Call again when some of them have ended.`;

/** Sets the entry, and deletes the oldest one beyond the limit. */
function remember<Value>(memory: Map<string, Value>, key: string, value: Value): void {
  memory.set(key, value);
  const [oldest = key] = memory.keys();
  if (memory.size > remembered_max) memory.delete(oldest);
}

/** Returns an answer for the record, instead of one that will not come. */
function ended(message: string): Answered {
  return { message: { error: { message } }, line: "" };
}
