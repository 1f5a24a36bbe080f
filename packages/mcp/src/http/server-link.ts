/**
 * The way to the remote server for one governor: each message is a POST, and the answers come as a JSON body or as a
 * stream of events. A stream that breaks before the answer is resumed, if the server gave its events ids.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  errorCodes,
  idKey,
  isAnswer,
  isId,
  isObject,
  type JsonObject,
  type Message,
  objectIn,
  type RequestId,
  refusal as refusalOf,
  textIn,
} from "../protocol/messages.ts";
import { eventsIn } from "./events.ts";
import { MirroredParameters, mirroredHeaders, revisionOf } from "./mirrored-headers.ts";
import { type Headers, mediaType, NoAnswer, type Remote, type RemoteAnswer, textOf } from "./remote.ts";

/** Who waits for the answers to one message, or listens. */
export interface Receiver {
  /** Credentials and the like of the client's request. */
  readonly headers: Headers;
  /** The server accepted the message. `streams`: it answers with a stream. */
  accepted(streams: boolean): void;
  /** Takes one message as a line. Resolves when the client's side can take more. */
  take(line: string): Promise<void> | void;
  /** No answer will come. */
  failed(failure: Failure): void;
}

export interface Failure {
  /** For the client. */
  readonly why: string;
  /** The server's answer; null: it gave none that HTTP clients can use. */
  readonly refusal: Refusal | null;
  /** The server may have done what it was asked for. */
  readonly maybe_done: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly headers: RemoteAnswer["headers"];
  readonly body: string;
}

/** As long as for a server on standard streams. */
const message_chars_max = 64 * 1_048_576;
const refusal_bytes_max = 1_048_576;
/** Attempts to resume a stream without a new event. */
const resumptions_max = 10;
/** Until the server says otherwise. */
const retry_ms_default = 1_000;
const retry_ms_max = 60_000;
/** Time for a server to end a stream after the answer, so that the connection can be used again. */
const end_of_stream_ms = 5_000;
const end_of_session_ms = 2_000;

interface Reading {
  readonly receiver: Receiver;
  readonly signal: AbortSignal;
  readonly headers: Headers;
  /** Null: the stream answers no request. */
  readonly id: Message["id"] | null;
  /** The id of the last event, if the server may resume after it. */
  last_event: string | undefined;
  retry_ms: number;
}

export class ServerLink {
  readonly #remote: Remote;
  readonly #parameters: MirroredParameters;
  readonly #ending = new AbortController();
  /** Requests without a session that the server has, by id. Closing one cancels it. */
  readonly #stateless = new Map<string, AbortController>();
  #session_id: string | null = null;
  #revision: string | null = null;
  #has_begun = false;

  constructor(remote: Remote, parameters = new MirroredParameters()) {
    this.#remote = remote;
    this.#parameters = parameters;
  }

  /** The server accepted `initialize`. */
  get has_begun(): boolean {
    return this.#has_begun;
  }

  get has_session(): boolean {
    return this.#session_id !== null;
  }

  /** Sends a message of the governor. Resolves when its answer was taken, or its failure. */
  async post(line: string, receiver: Receiver): Promise<void> {
    const message = JSON.parse(line) as Message;
    if (this.#cancels(message)) return receiver.accepted(false);
    const { id, method } = message;
    const is_request = id !== undefined && method !== undefined;
    const aborting = new AbortController();
    const signal = AbortSignal.any([aborting.signal, this.#ending.signal]);
    const headers = this.#headersFor(message, receiver);
    const is_stateless = revisionOf(message) !== null;
    if (is_request && is_stateless) this.#stateless.set(idKey(id), aborting);
    try {
      const accept = { accept: "application/json, text/event-stream", "content-type": "application/json" };
      const answer = await this.#remote.ask({
        method: "POST",
        headers: { ...headers, ...accept },
        body: line,
        signal,
      });
      if (!isSuccess(answer)) return receiver.failed(await this.#failureIn(answer));
      if (method === "initialize") this.#begin(answer);
      if (is_request) await this.#read(answer, readingOf(receiver, signal, headers, id));
      else {
        answer.body.resume();
        receiver.accepted(false);
      }
    } catch (error) {
      if (!signal.aborted) receiver.failed(failureOf(error as Error));
    } finally {
      if (is_request) this.#stateless.delete(idKey(id));
    }
  }

  /**
   * Opens the server's stream of messages that answer no request, and resolves when it ends: to the id of its last
   * event. `after`: an earlier such id.
   */
  async listen(receiver: Receiver, signal: AbortSignal, after: string | undefined): Promise<string | undefined> {
    const headers = this.#headersFor(null, receiver);
    const reading = readingOf(receiver, AbortSignal.any([signal, this.#ending.signal]), headers, null);
    reading.last_event = after;
    try {
      const answer = await this.#ask(reading);
      if (isSuccess(answer)) await this.#readEvents(answer, reading);
      else receiver.failed(await this.#failureIn(answer));
    } catch (error) {
      if (!reading.signal.aborted) receiver.failed(failureOf(error as Error));
    }
    return reading.last_event;
  }

  /** Ends all requests, and the session. */
  async end(headers: Headers): Promise<void> {
    this.#ending.abort();
    if (this.#session_id === null) return;
    const signal = AbortSignal.timeout(end_of_session_ms);
    const all = { ...headers, ...this.#sessionHeaders() };
    this.#session_id = null;
    try {
      const { body } = await this.#remote.ask({ method: "DELETE", headers: all, signal });
      body.resume();
    } catch {
      // The server forgets sessions by itself.
    }
  }

  /** Without sessions, closing the request is the cancellation, and no message is sent. */
  #cancels({ method, params = {} }: Message): boolean {
    if (this.#has_begun || method !== "notifications/cancelled") return false;
    const id = params["requestId"];
    if (isId(id)) this.#stateless.get(idKey(id))?.abort();
    return true;
  }

  #sessionHeaders(): Headers {
    return {
      ...(this.#revision !== null && { "mcp-protocol-version": this.#revision }),
      ...(this.#session_id !== null && { "mcp-session-id": this.#session_id }),
    };
  }

  #headersFor(message: Message | null, { headers }: Receiver): Headers {
    if (message !== null && revisionOf(message) !== null)
      return { ...headers, ...mirroredHeaders(message, this.#parameters) };
    return { ...this.#sessionHeaders(), ...headers };
  }

  #begin({ headers }: RemoteAnswer): void {
    this.#has_begun = true;
    this.#session_id = headers["mcp-session-id"]?.toString() ?? null;
  }

  async #failureIn({ status, headers, body }: RemoteAnswer): Promise<Failure> {
    const { origin } = this.#remote.url;
    if (status >= 300 && status < 400) {
      body.destroy();
      const why = `the server at ${origin} redirects (${status}), and redirects are not followed: give its final address`;
      return { why, refusal: null, maybe_done: false };
    }
    const text = await textOf(body, refusal_bytes_max);
    const said = objectIn(text)?.["error"];
    const reason = isObject(said) ? `: ${textIn(said)}` : "";
    return {
      why: `the server at ${origin} answered with HTTP status ${status}${reason}`,
      refusal: { status, headers, body: text },
      maybe_done: status >= 500,
    };
  }

  async #read(answer: RemoteAnswer, reading: Reading): Promise<void> {
    const { receiver, id } = reading;
    if (mediaType(answer.headers) === "text/event-stream") return this.#readToAnswer(answer, reading);
    if (mediaType(answer.headers) !== "application/json") {
      answer.body.destroy();
      throw new Error(
        `the server answered with neither JSON nor events: ${answer.headers["content-type"] ?? "nothing"}`,
      );
    }
    const line = oneLine(await textOf(answer.body, message_chars_max));
    const message = this.#learn(line);
    if (!answers(message, id)) throw new Error("the server's answer is not an answer to the request");
    receiver.accepted(false);
    await receiver.take(line);
  }

  async #readToAnswer(first: RemoteAnswer, reading: Reading): Promise<void> {
    let [answer, attempts] = [first, 0];
    for (;;) {
      const before = reading.last_event;
      if (await this.#readEvents(answer, reading)) return;
      attempts = reading.last_event === before ? attempts + 1 : 0;
      const can_resume = reading.last_event !== undefined && this.#session_id !== null;
      if (!can_resume || attempts > resumptions_max) throw new Error("the server's stream ended before its answer");
      await delay(reading.retry_ms, undefined, { signal: reading.signal });
      answer = await this.#ask(reading);
      if (!isSuccess(answer)) throw new Error((await this.#failureIn(answer)).why);
    }
  }

  #ask({ headers: given, last_event, signal }: Reading): Promise<RemoteAnswer> {
    const after = last_event === undefined ? {} : { "last-event-id": last_event };
    return this.#remote.ask({
      method: "GET",
      headers: { ...given, accept: "text/event-stream", ...after },
      signal,
    });
  }

  /** Returns whether the answer came. A broken stream is a stream that ended. */
  async #readEvents({ headers, body }: RemoteAnswer, reading: Reading): Promise<boolean> {
    if (mediaType(headers) !== "text/event-stream") {
      body.destroy();
      throw new Error("the server answered without a stream of events");
    }
    const { receiver, id, signal } = reading;
    const onRetry = (wait_ms: number) => {
      reading.retry_ms = Math.min(wait_ms, retry_ms_max);
    };
    receiver.accepted(true);
    try {
      for await (const event of eventsIn(body.iterator({ destroyOnReturn: false }), message_chars_max, onRetry)) {
        if (event.id !== undefined) reading.last_event = event.id;
        if (event.data === "" || (event.event ?? "message") !== "message") continue;
        const line = oneLine(event.data);
        const message = this.#learn(line);
        await receiver.take(line);
        if (!answers(message, id)) continue;
        body.setTimeout(end_of_stream_ms, () => body.destroy());
        body.on("error", () => undefined).resume();
        return true;
      }
    } catch (error) {
      body.destroy();
      if (signal.aborted || !isBroken(error)) throw error;
    }
    return false;
  }

  /** Reads what later headers depend on. */
  #learn(line: string): JsonObject | null {
    const message = objectIn(line);
    const result = message?.["result"];
    if (!isObject(result)) return message;
    this.#parameters.learn(result);
    const revision = result["protocolVersion"];
    if (typeof revision === "string") this.#revision ??= revision;
    return message;
  }
}

function failureOf(error: Error): Failure {
  return { why: error.message, refusal: null, maybe_done: !(error instanceof NoAnswer) || error.was_sent };
}

const maybe_made = "The call may have been made. Find out whether it was executed before you call again.";

/** Returns the line that answers a failed request: the server's own error, if its refusal has one. */
export function failedAnswer({ why, refusal, maybe_done }: Failure, { id, method }: FailedRequest): string {
  const line = oneLine(refusal?.body ?? "");
  if (answers(objectIn(line), id)) return line;
  const text = maybe_done && method === "tools/call" ? `${why}. ${maybe_made}` : why;
  return JSON.stringify(refusalOf(id, errorCodes.no_result, text));
}

export interface FailedRequest {
  readonly id: RequestId;
  readonly method: string;
}

function readingOf(receiver: Receiver, signal: AbortSignal, headers: Headers, id: Reading["id"]): Reading {
  return { ...{ receiver, signal, headers, id }, last_event: undefined, retry_ms: retry_ms_default };
}

const isSuccess = ({ status }: RemoteAnswer): boolean => status >= 200 && status < 300;

const isBroken = (error: unknown): boolean =>
  ["ECONNRESET", "ERR_STREAM_PREMATURE_CLOSE", "EPIPE", "ETIMEDOUT"].includes(
    (error as NodeJS.ErrnoException).code ?? "",
  );

/** Valid JSON has line ends only where it may have spaces. */
const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, " ");

/** Accepts "1" as the answer to 1, as the protocol's own client does. */
function answers(message: JsonObject | null, id: Reading["id"]): boolean {
  if (message === null || id === null || id === undefined || !isAnswer(message)) return false;
  return message.id === id || Number(message.id) === id;
}
