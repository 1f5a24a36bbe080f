/**
 * A governor between HTTP clients and the remote server: one for each session, and since revision 2026-07-28, which has
 * no sessions, one for each caller. It finds the client's HTTP request that each message of the governor belongs to.
 */
import type { ServerResponse } from "node:http";
import { createGovernor, type Governor, type GovernorOptions } from "../governor.ts";
import {
  errorCodes,
  isAnswer,
  isObject,
  type JsonObject,
  type Message,
  objectIn,
  type RequestId,
  refusal as refusalOf,
} from "../protocol/messages.ts";
import type { ClientStream } from "./client-stream.ts";
import { type ClientRequest, type Exchange, Exchanges } from "./exchanges.ts";
import { Listeners } from "./listeners.ts";
import { MirroredParameters } from "./mirrored-headers.ts";
import type { Headers, Remote } from "./remote.ts";
import { withKnownIds, withOwnIds } from "./renaming.ts";
import {
  type FailedRequest,
  type Failure,
  failedAnswer,
  type Receiver,
  type Refusal,
  ServerLink,
} from "./server-link.ts";

export interface ConversationOptions {
  readonly governor: Omit<GovernorOptions, "toServer" | "toClient">;
  readonly remote: Remote;
  /** Has no session: a closed request is cancelled. */
  readonly is_stateless: boolean;
}

/** Characters of ended streams that clients can come back for. The newest is always kept. */
const kept_chars_max = 1_048_576;

/** Credentials of one session: clients renew their tokens. */
const accepted_max = 10;

export class Conversation {
  readonly parameters = new MirroredParameters();
  readonly #options: ConversationOptions;
  readonly #governor: Governor;
  readonly #link: ServerLink;
  readonly #exchanges = new Exchanges();
  readonly #listeners: Listeners;
  /** Ended streams that clients may come back for; the oldest first. */
  #ended: ClientStream[] = [];
  /** While a message of one exchange is handled: the messages of the same turn belong to it. */
  #current: Exchange | null = null;
  /** For the governor's own requests. */
  #latest: Headers = {};
  /** Credentials that the server accepted: they may come back for what is kept here. */
  readonly #accepted = new Set<string>();
  #streams_made = 0;

  constructor(options: ConversationOptions) {
    this.#options = options;
    this.#link = new ServerLink(options.remote, this.parameters);
    this.#governor = createGovernor({
      ...options.governor,
      toServer: (line) => this.#toServer(line),
      toClient: (line) => this.#toClient(line),
    });
    this.#listeners = new Listeners({
      link: this.#link,
      take: (request, line) => this.#during(exchangeWithoutRequest(request), () => this.#governor.fromServer(line)),
      accepted: (request) => this.#accept(request),
      refused: (request, why, refusal) => void this.#refuse(request, why, refusal),
      keep: (stream) => this.#keep(stream),
    });
  }

  get has_begun(): boolean {
    return this.#link.has_begun;
  }

  get is_busy(): boolean {
    return this.#exchanges.size > 0 || this.#listeners.connected() !== undefined;
  }

  nextStreamId(): string {
    this.#streams_made += 1;
    return String(this.#streams_made);
  }

  /** Takes one valid message. The stream gets all answers. Throws `RangeError` if it is nested too deep. */
  post(message: Message, text: string, request: ClientRequest): void {
    const { method } = message;
    const { stream, headers } = request;
    // Ids of other clients may be equal, so closing the request is the only cancellation without a session.
    if (this.#options.is_stateless && method === "notifications/cancelled") return void stream.refuse(202, {}, "");
    this.#latest = headers;
    const exchange = this.#exchanges.make(message, request);
    const { renaming } = exchange;
    const line = renaming === null ? text : withKnownIds(text, message, renaming);
    this.#exchanges.open(exchange);
    if (exchange.key !== null) stream.onClose(() => this.#closed(exchange));
    this.#during(exchange, () => this.#governor.fromClient(line));
    // The governor may keep a notification to itself.
    if (exchange.key === null && !exchange.is_sent) stream.refuse(202, {}, "");
  }

  /** Opens the server's stream of messages that answer no request. */
  listen(request: ClientRequest): void {
    this.#latest = request.headers;
    this.#listeners.begin(request);
  }

  /** Continues a stream for a client that comes back after an event. Returns false if there is none for it. */
  resume(event_id: string, response: ServerResponse, request: Omit<ClientRequest, "stream">): boolean {
    const [, id, number] = /^(\d+)-(\d+)$/.exec(event_id) ?? [];
    const open = this.#exchanges.all().map((each) => each.stream);
    const stream = [...open, ...this.#listeners.streams(), ...this.#ended].find((each) => each.id === id);
    if (stream === undefined || !this.#accepted.has(request.credentials)) return false;
    this.#latest = request.headers;
    stream.resume(response, Number(number));
    this.#listeners.resume({ ...request, stream });
    return true;
  }

  /** Cancels waiting calls, records those at the server, and closes all streams. The headers are for the server. */
  async end(headers = this.#latest): Promise<void> {
    await this.#governor.end();
    for (const { stream, key, renaming } of this.#exchanges.all()) {
      const id = renaming?.own.id ?? JSON.parse(key ?? "null");
      stream.finish(JSON.stringify(refusalOf(id, errorCodes.no_result, ended)), 503);
    }
    this.#listeners.end();
    await this.#link.end(headers);
  }

  #during(exchange: Exchange | null, act: () => void): void {
    const before = this.#current;
    this.#current = exchange;
    try {
      act();
    } finally {
      this.#current = before;
    }
  }

  #toServer(line: string): void {
    const { id, method } = JSON.parse(line) as Message;
    const is_request = id !== undefined && method !== undefined;
    const exchange = is_request ? (this.#exchanges.get(id) ?? null) : this.#current;
    if (exchange !== null) exchange.is_sent = true;
    const receiver: Receiver = {
      headers: exchange?.headers ?? this.#latest,
      accepted: (streams) => {
        if (exchange === null) return;
        this.#accept(exchange);
        if (exchange.key === null) exchange.stream.refuse(202, {}, "");
        else if (streams) exchange.stream.start();
      },
      take: (answer) => {
        this.#during(exchange, () => this.#governor.fromServer(answer));
        return exchange?.stream.drained();
      },
      failed: (failure) => this.#fail(is_request ? { id, method } : null, exchange, failure),
    };
    void this.#link.post(line, receiver);
  }

  #fail(request: FailedRequest | null, exchange: Exchange | null, failure: Failure): void {
    const { why, refusal } = failure;
    this.#options.governor.note(why);
    if (exchange !== null) exchange.refusal = refusal;
    if (request !== null) this.#during(exchange, () => this.#governor.fromServer(failedAnswer(failure, request)));
    else if (exchange?.key === null) this.#refuse(exchange, why, refusal);
  }

  #accept({ credentials }: ClientRequest): void {
    this.#accepted.delete(credentials);
    this.#accepted.add(credentials);
    const [oldest = credentials] = this.#accepted;
    if (this.#accepted.size > accepted_max) this.#accepted.delete(oldest);
  }

  #refuse({ stream, passed }: ClientRequest, why: string, refusal: Refusal | null): boolean {
    if (refusal !== null) return stream.refuse(refusal.status, passed(refusal), refusal.body);
    const body = JSON.stringify(refusalOf(null, errorCodes.no_result, why));
    return stream.refuse(502, { "content-type": "application/json" }, body);
  }

  #toClient(line: string): void {
    const message = objectIn(line);
    if (message !== null && isAnswer(message)) return void this.#answer(message.id, message, line);
    const exchange = this.#current ?? this.#exchangeOf(message);
    // Without an id nobody waits: the governor refuses a message that it cannot read.
    if (exchange?.key === null) return void exchange.stream.finish(line, 400);
    const stream = exchange?.stream ?? this.#listeners.connected();
    const own = ownLine(exchange, line);
    if (own === null) this.#options.governor.note(`a message was dropped: ${too_deep}`);
    else stream?.send(own);
  }

  /** Returns the exchange of a notification or request to the client. */
  #exchangeOf(message: JsonObject | null): Exchange | undefined {
    const params = message?.["params"];
    const asked = this.#exchanges.withToken(isObject(params) ? params["progressToken"] : undefined);
    // Without a session the newest request may be another client's.
    const is_any = !this.#options.is_stateless && this.#listeners.connected() === undefined;
    return asked ?? (is_any ? this.#exchanges.all().at(-1) : undefined);
  }

  #answer(id: RequestId, message: JsonObject, line: string): void {
    const exchange = this.#exchanges.end(id);
    if (exchange === undefined) return void this.#options.governor.note("an answer was dropped: no request has its id");
    const { stream, refusal, renaming } = exchange;
    const { error } = message;
    const is_refused = refusal !== null && error !== undefined && this.#refuse(exchange, "", refusal);
    const is_unknown = isObject(error) && error["code"] === errorCodes.method_not_found;
    const unwritten = () => JSON.stringify(refusalOf(renaming?.own.id ?? id, errorCodes.no_result, too_deep));
    if (!is_refused)
      stream.finish(ownLine(exchange, line) ?? unwritten(), this.#options.is_stateless && is_unknown ? 404 : 200);
    this.#keep(stream);
  }

  /** Without a session, closing the request cancels it. Within a session the client may come back. */
  #closed(exchange: Exchange): void {
    const { key, stream } = exchange;
    if (!this.#options.is_stateless || key === null || stream.is_over) return;
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: JSON.parse(key) } };
    this.#during(null, () => this.#governor.fromClient(JSON.stringify(cancelled)));
    this.#exchanges.forget(exchange);
    stream.end();
  }

  /** Keeps an ended stream for a client that comes back, and forgets old ones. */
  #keep(stream: ClientStream): void {
    if (stream.kept_chars === 0 || this.#ended.includes(stream)) return;
    this.#ended.push(stream);
    let chars = this.#ended.reduce((sum, { kept_chars }) => sum + kept_chars, 0);
    while (this.#ended.length > 1 && chars > kept_chars_max) chars -= this.#ended.shift()?.kept_chars ?? 0;
  }
}

const ended = "The proxy ended before the answer came. A call may have been made.";
const too_deep = "it is too large or nested too deep";

const ownLine = (exchange: Exchange | undefined, line: string): string | null =>
  exchange === undefined || exchange.renaming === null ? line : withOwnIds(line, exchange.renaming);

/** For the server's messages on a stream that answers no request. */
const exchangeWithoutRequest = (request: ClientRequest): Exchange => ({
  ...request,
  ...{ key: "", renaming: null, token_key: null, refusal: null, is_sent: false },
});
