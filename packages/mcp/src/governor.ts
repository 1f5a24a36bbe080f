/**
 * Stands between a client of the Model Context Protocol and a server, and has every `tools/call` decided before the server
 * hears of it:
 *
 *   approve             the call goes on as it is, and its answer comes back as it is
 *   approve_modified    the call goes on with the arguments that policies or a reviewer made of it, and the answer says so
 *   block               the client gets a result that is an error and says why (where it asked for a task: an error); the
 *                       server hears nothing
 *   escalate            the client waits, and hears of it by progress; after `wait_ms` it gets a result that says to call
 *                       again, and the same call goes on waiting for the same review
 *   no decision         the client gets a result that is an error; the server hears nothing
 *
 * All other messages pass. What comes from the client is written anew from what was read, its numbers as they stood, so that
 * the server cannot read another call in it than the one that was decided.
 */
import type { ContextDocument, IntentSubmission } from "@countersign/contract";
import { elementsIn, readExactly } from "./exact-json.ts";
import { type Answered, type CallDeps, Cancelled, governCall, StillPending } from "./governed-call.ts";
import { type KnownTool, toolsIn, unknown_tool } from "./known-tools.ts";
import {
  answerIn,
  error_codes,
  hasLookAlike,
  hasTwins,
  idKey,
  isId,
  isMessage,
  isObject,
  type JsonObject,
  losesDigits,
  type Message,
  noResult,
  type RequestId,
  refusal,
} from "./messages.ts";

/** What a governor works with. */
export interface GovernorOptions {
  readonly client: CallDeps["client"];
  /** Null: what the client calls itself. */
  readonly agent_id: string | null;
  readonly session_id: string;
  readonly membrane_id?: string | undefined;
  readonly mode?: "shadow" | undefined;
  /** Facts that go along with every call. */
  readonly context?: ContextDocument | undefined;
  /** The server's word counts for which of its tools only read and which may destroy. */
  readonly trust_annotations: boolean;
  /** For so long the client is kept waiting for people. */
  readonly wait_ms: number;
  /** Between two signs of life to a client that waits. */
  readonly progress_ms: number;
  /** Each takes one message as a line of JSON. */
  readonly toServer: (line: string) => void;
  readonly toClient: (line: string) => void;
  /** Hears what whoever runs it should know. */
  readonly note: (text: string) => void;
}

/** Takes what was read from either side. */
export interface Governor {
  fromClient(line: string): void;
  fromServer(line: string): void;
  /** The client is not heard any more: calls that wait end, and those that the server has end as failed. Resolves when all is recorded. */
  end(): Promise<void>;
}

/** A message of the client: as it was read, and to be written, when its numbers are as they stood. */
interface Heard {
  readonly message: Message;
  readonly exact: Message;
  readonly write: (value: JsonObject) => string;
  /** Tells the client something with parts of `exact`. */
  readonly answer: (said: JsonObject) => void;
}

/** A call that is not answered yet. */
interface Call {
  readonly deciding: AbortController;
  /** Null: the server has not heard of it. */
  answered: ((answer: Answered) => void) | null;
}

/** Another request that is not answered yet: what is learned from its result, and what is told with it. */
interface OtherRequest {
  readonly learn: ((result: JsonObject) => void) | undefined;
  readonly tell: ((line: string) => string) | undefined;
}

/** So many are decided on or made at once. */
const calls_max = 256;
/** In one array of the client: of each, as little as it says, it is told more. */
const messages_max = 1_000;
/** Of reviews, of tasks, and of requests. */
const remembered_max = 1_000;
/** `limits.agent_id_chars_max` */
const agent_id_chars_max = 128;

/** Makes one for one client and one server. */
export function createGovernor(options: GovernorOptions): Governor {
  const { toServer, toClient, note } = options;
  /** Calls and recordings. */
  const under_way = new Set<Promise<unknown>>();
  const client: CallDeps["client"] = {
    ...options.client,
    recordObservation: (...given) => hold(options.client.recordObservation(...given)),
  };
  const calls = new Map<string, Call>();
  const requests = new Map<string, OtherRequest>();
  /** What is told with the results of tasks, by their ids. */
  const additions = new Map<string, (line: string) => string>();
  /** Reviews under way that nobody waits for, by what was asked. */
  const reviews = new Map<string, string>();
  let tools = new Map<string, KnownTool>();
  let agent_id = options.agent_id;
  let server_name: string | null = null;
  let is_over = false;

  const send = (message: JsonObject): void => toClient(JSON.stringify(message));

  function hold<Held>(promise: Promise<Held>): Promise<Held> {
    const over = () => void under_way.delete(promise);
    under_way.add(promise);
    promise.then(over, over);
    return promise;
  }

  function take(heard: Heard): void {
    const { message, exact, write, answer } = heard;
    const { id, method, params = {} } = message;
    const is_call = method === "tools/call";
    if (id !== undefined && method !== undefined && (calls.has(idKey(id)) || (is_call && requests.has(idKey(id)))))
      return void answer(
        refusal(exact.id ?? null, error_codes.invalid_request, "A request with this id is under way."),
      );
    if (is_call) return void call(heard);
    if (method === "notifications/cancelled" && cancel(params["requestId"])) return;
    if (method === "initialize") agent_id ??= nameIn(params["clientInfo"]);
    toServer(write(exact));
    if (id === undefined || method === undefined) return;
    const tell = method === "tasks/result" ? additions.get(String(params["taskId"])) : undefined;
    remember(requests, idKey(id), { learn: lessonOf(method, params), tell });
  }

  function lessonOf(method: string, { cursor }: JsonObject): OtherRequest["learn"] {
    if (method === "initialize")
      return ({ serverInfo }) => {
        server_name ??= nameIn(serverInfo);
      };
    if (method !== "tools/list") return undefined;
    return (result) => {
      tools = new Map([...(cursor === undefined ? [] : tools), ...toolsIn(result)]);
    };
  }

  /** Whether that was all: of a call that the server has it hears itself. */
  function cancel(id: unknown): boolean {
    const cancelled = isId(id) ? calls.get(idKey(id)) : undefined;
    if (cancelled === undefined) return false;
    cancelled.deciding.abort(new Cancelled());
    cancelled.answered?.(ended("The client cancelled it while it ran."));
    return cancelled.answered === null;
  }

  function call({ message, exact, write, answer }: Heard): void {
    const { method, params = {} } = message;
    const { name, arguments: given = {} } = params;
    const { id, params: handed_on = {} } = exact;
    if (message.id === undefined || id === undefined)
      return void note("a call of a tool without an id was dropped: nobody hears what comes of it");
    const key = idKey(message.id);
    const refuse = (code: number, text: string) => answer(refusal(id, code, text));
    if (typeof name !== "string" || !isObject(given) || hasLookAlike(params, ["name", "arguments", "task"]))
      return void refuse(error_codes.invalid_params, "Give the tool's name, and its arguments as an object.");
    const as = { id, as_task: isObject(params["task"]) };
    if (losesDigits(given)) return void answer(noResult(as, too_large));
    if (hasTwins(given)) return void answer(noResult(as, twins));
    if (calls.size >= calls_max) return void refuse(error_codes.no_result, too_many);
    write(exact); // or it throws before anything was decided
    const asked = JSON.stringify([name, given]);
    const made: Call = { deciding: new AbortController(), answered: null };
    calls.set(key, made);
    const review = reviews.get(asked) ?? null;
    reviews.delete(asked);
    const deps: CallDeps = {
      ...{ client, toClient, answer, note },
      mode: options.mode,
      forward: (content) =>
        new Promise((resolve) => {
          made.answered = resolve;
          const none = params["arguments"] === undefined && Object.keys(content).length === 0;
          const made_with = none ? handed_on : { ...handed_on, arguments: content };
          toServer(write({ jsonrpc: "2.0", id, method, params: made_with }));
        }),
      wait: () => keepWaiting(made, handed_on, answer),
      tellLater: (task_id, tell) => remember(additions, task_id, tell),
      leave: (intent_id) => remember(reviews, asked, intent_id),
    };
    const submission = submissionOf(name, given);
    const governed = governCall(deps, { ...as, submission, review, signal: made.deciding.signal });
    hold(governed.finally(() => calls.delete(key)));
  }

  function submissionOf(name: string, content: JsonObject): IntentSubmission {
    const { trust_annotations, membrane_id, session_id } = options;
    const { title, reads_only, destroys } = tools.get(name) ?? unknown_tool;
    const context = trust_annotations ? withSideEffect(options.context, !reads_only) : options.context;
    const target = server_name === null ? {} : { target: { type: "mcp_server", identifier: server_name } };
    return {
      intent: {
        agent: { id: agent_id ?? "mcp-client", framework: "mcp", session_id },
        action: { verb: name, ...target },
        payload: { content, ...(title !== null && { summary: title }) },
        ...(trust_annotations && { estimated_impact: { reversible: !destroys } }),
      },
      ...(context !== undefined && { context }),
      ...(membrane_id !== undefined && { membrane_id }),
    };
  }

  /** Tells the client now and then that people look at it, and ends that in time. Gives what stops both. */
  function keepWaiting({ deciding }: Call, params: JsonObject, answer: Heard["answer"]): () => void {
    const { progressToken } = isObject(params["_meta"]) ? params["_meta"] : {};
    let told = 0;
    const tell = (): void => {
      if (progressToken === undefined) return;
      told += 1;
      // In thousandths: what the server tells later with the same token has to be more.
      const progress = { progressToken, progress: told / 1000, message: "Waiting for a person to decide." };
      answer({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
    };
    tell();
    const telling = setInterval(tell, options.progress_ms);
    const limit = setTimeout(() => deciding.abort(new StillPending(options.wait_ms)), options.wait_ms);
    return () => {
      clearInterval(telling);
      clearTimeout(limit);
    };
  }

  function hear(line: string): void {
    const message = answerIn(line);
    if (message === null) return void toClient(line);
    const key = idKey(message.id);
    // The protocol's own client makes a number of an id that is a text: then it takes "1" for the answer to 1, unless
    // it asked by that text.
    const other = requests.get(key);
    const made = calls.get(key) ?? (other === undefined ? calls.get(idKey(Number(message.id))) : undefined);
    if (made?.answered === null) return void note("an answer was dropped: the server has not heard of that call");
    if (made !== undefined) return void made.answered({ message, line });
    requests.delete(key);
    if (isObject(message["result"])) other?.learn?.(message["result"]);
    try {
      toClient(other?.tell?.(line) ?? line);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      send(refusal(message.id, error_codes.no_result, not_written));
    }
  }

  function listen(text: string): void {
    let read: unknown;
    try {
      read = JSON.parse(text);
    } catch {
      return void send(refusal(null, error_codes.parse_error, "This is not one JSON text on a line."));
    }
    const refuse = (id: RequestId | null, why: string) => send(refusal(id, error_codes.invalid_request, why));
    if (!isMessage(read)) return void refuse(null, "This is no message of JSON-RPC 2.0.");
    try {
      const { value, write } = readExactly(text);
      take({ message: read, exact: value as Message, write, answer: (said) => toClient(write(said)) });
    } catch (error) {
      // What can be read cannot always be written.
      if (!(error instanceof RangeError)) throw error;
      refuse(read.id ?? null, "This is nested too deep, or too large.");
    }
  }

  return {
    fromClient(line) {
      if (is_over) return;
      const elements = elementsIn(line);
      if (elements.length > messages_max) return void send(refusal(null, error_codes.invalid_request, too_long));
      for (const each of elements.length === 0 ? [line] : elements) listen(each);
    },

    fromServer(line) {
      const elements = elementsIn(line);
      // An array in an array is no answer, and taken out of it, it would be one to a client.
      for (const each of elements.length === 0 ? [line] : elements)
        if (each.startsWith("[") && elements.length > 0) toClient(`[${each}]`);
        else hear(each);
    },

    async end() {
      is_over = true;
      for (const { deciding, answered } of calls.values()) {
        deciding.abort(new Cancelled());
        answered?.(ended("The connection ended while it ran."));
      }
      while (under_way.size > 0) await Promise.allSettled(under_way);
    },
  };
}

const too_large =
  "Nothing was done: a number in the arguments is too large to be handed on as it is. Numbers from 2^53 on can only be given as texts.";

const twins =
  "Nothing was done: two names in one object of the arguments differ in capitals only, and servers may take them for one. Give one of them.";

const not_written =
  "The call was made, with other arguments than were given, but its result cannot be handed on: it is too large or nested too deep.";

const too_long = `Nothing was done: this array has more than ${messages_max} messages.`;

const too_many = `Nothing was done: ${calls_max} calls are under way. Call again when some of them have ended.`;

/** The oldest goes where there are too many. */
function remember<Value>(memory: Map<string, Value>, key: string, value: Value): void {
  memory.set(key, value);
  const [oldest = key] = memory.keys();
  if (memory.size > remembered_max) memory.delete(oldest);
}

/** In place of an answer that does not come, for the record. */
function ended(message: string): Answered {
  return { message: { error: { message } }, line: "" };
}

/** What somebody calls itself. */
function nameIn(about: JsonObject[string] | undefined): string | null {
  const name = isObject(about) ? about["name"] : null;
  return typeof name === "string" && name !== ""
    ? name.slice(0, agent_id_chars_max).replace(/[\ud800-\udbff]$/, "")
    : null;
}

function withSideEffect(context: ContextDocument | undefined, side_effect: boolean): ContextDocument {
  const { facts = {}, ...others } = context ?? {};
  return { contract_version: "1", ...others, facts: { ...facts, security: { ...facts.security, side_effect } } };
}
