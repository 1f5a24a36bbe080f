/**
 * Takes the HTTP requests of clients, for one remote server. Revision 2025-11-25 has sessions: each is a conversation
 * with an id that the proxy makes, whether or not the server has sessions. Since revision 2026-07-28 each caller (its
 * credentials) is a conversation.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GovernorOptions } from "../governor.ts";
import { errorCodes, type Message, refusal } from "../protocol/messages.ts";
import { checkAccept, credentialsIn, messageOf, picked, Refused } from "./client-requests.ts";
import { ClientStream } from "./client-stream.ts";
import { Conversation } from "./conversation.ts";
import type { ClientRequest } from "./exchanges.ts";
import { foreignPart, type GuardOptions, originHeaders, preflightHeaders } from "./guard.ts";
import { KnownConversations } from "./known-conversations.ts";
import { header_mismatch, isStateless, lacksRevision, mismatchOf } from "./mirrored-headers.ts";
import { type Headers, type Remote, textOf } from "./remote.ts";
import { MetadataPaths, ownMetadata, ownOrigin } from "./resource-metadata.ts";
import type { Refusal } from "./server-link.ts";

export interface ReverseProxyOptions extends GuardOptions {
  readonly governor: Omit<GovernorOptions, "toServer" | "toClient" | "session_id">;
  readonly remote: Remote;
  readonly keep_alive_ms: number;
}

const metadata_bytes_max = 1_048_576;
/** For each of: sessions, callers. */
const conversations_max = 1_000;

/** The revision whose clients understand an event without data. */
const priming_revision = "2025-11-25";

/** Request headers that the server gets. The proxy writes those of the protocol itself. */
const passedHeaders = [
  "mcp-protocol-version",
  "authorization",
  "x-api-key",
  "user-agent",
  "accept-language",
  "traceparent",
  "tracestate",
  "baggage",
];
/** Headers of a server's refusal that the client gets. */
const refusalHeaders = ["content-type", "retry-after", "allow"];

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class ReverseProxy {
  readonly #options: ReverseProxyOptions;
  readonly #metadata: MetadataPaths;
  readonly #sessions = new KnownConversations<Conversation>(conversations_max);
  readonly #callers = new KnownConversations<Conversation>(conversations_max);
  readonly #ending = new AbortController();

  constructor(options: ReverseProxyOptions) {
    this.#options = options;
    this.#metadata = new MetadataPaths(options.remote.url);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route({ request, response });
    } catch (error) {
      // The client left before its request was complete.
      if (request.destroyed && !request.complete) return void response.destroy();
      const refused = error instanceof Refused ? error : new Refused(500, errorCodes.no_result, "The proxy failed.");
      if (refused !== error) this.#options.governor.note(`a request failed: ${String(error)}`);
      if (response.headersSent) return void response.destroy();
      // Drops the rest of a refused body. To close now could lose the answer, because the client is still sending.
      request.resume();
      response.writeHead(refused.status, { ...refused.headers, "content-type": "application/json" });
      response.end(JSON.stringify(refused.body));
    }
  }

  /** Ends all conversations. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all([this.#sessions.end(), this.#callers.end()]);
  }

  async #route(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const { method, headers, url = "" } = request;
    const foreign = foreignPart(this.#options, headers);
    if (foreign !== null) throw new Refused(403, errorCodes.invalid_request, foreign);
    // Pages of the server must not run in a browser as pages of the proxy.
    response.setHeader("x-content-type-options", "nosniff").setHeader("content-security-policy", "sandbox");
    for (const [name, value] of Object.entries(originHeaders(headers))) response.setHeader(name, value);
    if (this.#ending.signal.aborted) throw new Refused(503, errorCodes.no_result, "The proxy is ending.");
    const { url: endpoint } = this.#options.remote;
    const path = URL.canParse(url, endpoint.href) ? new URL(url, endpoint).pathname : "";
    if (method === "OPTIONS") return void response.writeHead(204, preflightHeaders(headers)).end();
    if (method === "GET" && this.#metadata.has(path)) return this.#answerMetadata(exchange, path);
    if (path !== endpoint.pathname) {
      const message = `There is nothing at this path. The endpoint is ${endpoint.pathname}.`;
      throw new Refused(404, errorCodes.invalid_request, message);
    }
    if (method === "POST") return this.#post(exchange);
    if (method === "GET") return this.#listen(exchange);
    if (method === "DELETE") return this.#endSession(exchange);
    const allowed = { headers: { allow: "POST, GET, DELETE" } };
    throw new Refused(405, errorCodes.invalid_request, "Use POST, GET or DELETE.", allowed);
  }

  async #post({ request, response }: Exchange): Promise<void> {
    const { headers } = request;
    const { message, text } = await messageOf(request);
    const { id, method, params = {} } = message;
    const checkMirrored = (mismatch: string | null): void => {
      if (mismatch !== null) throw new Refused(400, header_mismatch, `Header mismatch: ${mismatch}.`, { id });
    };
    if (lacksRevision(message, headers))
      throw new Refused(400, errorCodes.invalid_params, "Name the protocol version in params._meta.", { id });
    checkMirrored(mismatchOf(message, headers));
    const is_stateless = isStateless(message, headers);
    const { value, session_id } = is_stateless ? this.#caller(headers) : this.#session(message, headers);
    if (method === "tools/call")
      checkMirrored(value.parameters.mismatchOf(String(params["name"]), params["arguments"], headers));
    const stream = new ClientStream(response, {
      id: value.nextStreamId(),
      resumes: !is_stateless,
      primes: !is_stateless && String(headers["mcp-protocol-version"] ?? "") >= priming_revision,
      headers: session_id === null ? {} : { "mcp-session-id": session_id },
      keep_alive_ms: id === undefined || method === undefined ? null : this.#options.keep_alive_ms,
    });
    stream.onClose(() => this.#forget(session_id));
    try {
      value.post(message, text, { stream, ...this.#about(request) });
    } catch (error) {
      if (!(error instanceof RangeError)) {
        stream.end();
        throw error;
      }
      const refused = refusal(id ?? null, errorCodes.invalid_request, "This is nested too deep, or too large.");
      stream.finish(JSON.stringify(refused), 400);
    }
  }

  #listen({ request, response }: Exchange): void {
    const { headers } = request;
    const conversation = this.#known(headers);
    checkAccept(headers.accept, ["text/event-stream"]);
    const last_event = headers["last-event-id"];
    if (last_event !== undefined) {
      if (conversation.resume(String(last_event), response, this.#about(request))) return;
      throw new Refused(400, errorCodes.invalid_request, "No stream of this session has this Last-Event-ID.");
    }
    const { keep_alive_ms } = this.#options;
    const terms = { id: conversation.nextStreamId(), resumes: true, primes: false, headers: {}, keep_alive_ms };
    conversation.listen({ stream: new ClientStream(response, terms), ...this.#about(request) });
  }

  async #endSession({ request, response }: Exchange): Promise<void> {
    const { headers } = request;
    const conversation = this.#known(headers);
    this.#sessions.delete(String(headers["mcp-session-id"]));
    await conversation.end(this.#about(request).headers);
    response.writeHead(204).end();
  }

  async #answerMetadata({ request, response }: Exchange, path: string): Promise<void> {
    const { remote } = this.#options;
    const headers = { accept: "application/json" };
    const { signal } = this.#ending;
    let answered: Refusal;
    try {
      const { status, headers: heard, body } = await remote.ask({ method: "GET", path, headers, signal });
      answered = { status, headers: heard, body: await textOf(body, metadata_bytes_max) };
    } catch (error) {
      throw new Refused(502, errorCodes.no_result, (error as Error).message);
    }
    const { status, body } = answered;
    if (status >= 300 && status < 400) throw new Refused(502, errorCodes.no_result, "The server redirects.");
    if (status !== 200) throw new Refused(status, errorCodes.no_result, "The server has no metadata.");
    response.writeHead(200, { "content-type": "application/json" });
    response.end(ownMetadata(body, remote.url, ownOrigin(request.headers)));
  }

  /** The session of a message; a new one for `initialize`. */
  #session(message: Message, headers: IncomingMessage["headers"]): { value: Conversation; session_id: string | null } {
    if (headers["mcp-session-id"] !== undefined || message.method !== "initialize")
      return { value: this.#known(headers), session_id: null };
    const session_id = randomUUID();
    return { value: this.#added(this.#sessions, session_id, false), session_id };
  }

  #known(headers: IncomingMessage["headers"]): Conversation {
    const session_id = headers["mcp-session-id"];
    if (session_id === undefined)
      throw new Refused(400, errorCodes.invalid_request, "The header Mcp-Session-Id is missing.");
    const known = this.#sessions.get(String(session_id));
    if (known === undefined) throw new Refused(404, errorCodes.invalid_request, "There is no such session.");
    return known;
  }

  #caller(headers: IncomingMessage["headers"]): { value: Conversation; session_id: null } {
    const key = credentialsIn(headers);
    const known = this.#callers.get(key);
    return { value: known ?? this.#added(this.#callers, key, true), session_id: null };
  }

  #added(known: KnownConversations<Conversation>, key: string, is_stateless: boolean): Conversation {
    const { governor, remote } = this.#options;
    const added = new Conversation({ governor: { ...governor, session_id: randomUUID() }, remote, is_stateless });
    if (!known.add(key, added)) throw new Refused(503, errorCodes.no_result, "Too many clients are connected.");
    return added;
  }

  #about(request: IncomingMessage): Omit<ClientRequest, "stream"> {
    return {
      headers: picked(request.headers, passedHeaders),
      credentials: credentialsIn(request.headers),
      passed: (refused) => this.#passedRefusal(refused, request),
    };
  }

  /** Forgets a session that the server did not begin. */
  #forget(session_id: string | null): void {
    const refused = session_id === null ? undefined : this.#sessions.get(session_id);
    if (session_id === null || refused === undefined || refused.has_begun) return;
    this.#sessions.delete(session_id);
    void refused.end();
  }

  #passedRefusal({ headers }: Refusal, request: IncomingMessage): Headers {
    const own = ownOrigin(request.headers);
    const challenge = headers["www-authenticate"];
    return {
      ...picked(headers, refusalHeaders),
      ...(challenge !== undefined && { "www-authenticate": this.#metadata.ownChallenge(challenge, own) }),
    };
  }
}
