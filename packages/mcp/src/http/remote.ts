/** The HTTP requests to the remote server. */
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

export type Headers = Readonly<Record<string, string>>;

export interface RemoteRequest {
  readonly method: "POST" | "GET" | "DELETE";
  /** Default: the server's endpoint. */
  readonly path?: string;
  readonly headers: Headers;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export interface RemoteAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
}

/** There was no answer. The text is about the server. */
export class NoAnswer extends Error {
  /** The server may have got the whole request, and acted on it. */
  readonly was_sent: boolean;

  constructor(text: string, was_sent: boolean) {
    super(text);
    this.was_sent = was_sent;
  }
}

/** Shorter than servers keep idle connections: a call on a connection that the server just closed would be lost. */
const idle_ms = 4_000;
const probe_ms = 30_000;

/**
 * Sends requests to one server. Follows no redirects, and has no time limit for answers, because tools may run for
 * hours.
 */
export class Remote {
  readonly url: URL;
  readonly #headers: Headers;
  readonly #agent: HttpAgent | HttpsAgent;

  /** `headers` go with each request to the endpoint. They win over the client's. */
  constructor(url: URL, headers: Headers) {
    this.url = url;
    this.#headers = headers;
    const settings = { keepAlive: true, timeout: idle_ms };
    this.#agent = url.protocol === "https:" ? new HttpsAgent(settings) : new HttpAgent(settings);
  }

  /** Resolves when the head of the answer is there. Rejects with `NoAnswer`. */
  ask({ method, path, headers, body, signal }: RemoteRequest): Promise<RemoteAnswer> {
    const { url } = this;
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const bytes = body === undefined ? null : Buffer.from(body);
    const about = bytes === null ? {} : { "content-length": String(bytes.length) };
    const own = path === undefined ? this.#headers : {};
    const options = {
      ...{ method, agent: this.#agent, signal },
      headers: { "accept-encoding": "identity", ...headers, ...own, ...about },
    };
    return new Promise((resolve, reject) => {
      const request = send(path === undefined ? url : new URL(path, url), options, (answer) =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer }),
      );
      request.setSocketKeepAlive(true, probe_ms);
      request.on("error", ({ code, message }: NodeJS.ErrnoException) => {
        const was_sent = request.writableFinished;
        const what = was_sent ? "broke the connection before its answer" : "cannot be reached";
        reject(new NoAnswer(`the server at ${url.origin} ${what}: ${code ?? message}`, was_sent));
      });
      request.end(bytes ?? undefined);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

export class BodyTooLong extends Error {}

/** Reads a body as UTF-8. Throws `BodyTooLong`, and `TypeError` for other bytes. */
export async function textOf(body: AsyncIterable<Buffer>, bytes_max: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytes_max) throw new BodyTooLong(`a body is longer than ${bytes_max} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
}

/** Returns the media type without its parameters. */
export const mediaType = (headers: IncomingHttpHeaders): string =>
  (headers["content-type"]?.split(";")[0] ?? "").trim().toLowerCase();
