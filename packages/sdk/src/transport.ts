import { lastLine, lines_type } from "./answer-lines.ts";
import { bodyText } from "./body-text.ts";
import { ApiError, apiErrorOf, ConnectionError } from "./errors.ts";

export interface TransportOptions {
  /** The service's address, such as `https://countersign.example.com`. A path is kept, a final slash is removed. */
  readonly base_url: string;
  /** Sent as X-API-Key. Omit it for operations that need no key. */
  readonly api_key?: string | undefined;
  /**
   * Sent as Agent-Token with each submission: a JWT of a trusted issuer, which proves who the agent is. A function is
   * called before each attempt, because tokens are short-lived.
   */
  readonly agent_token?: string | (() => string | Promise<string>) | undefined;
  /** Another `fetch`, for tests, proxies and older runtimes. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Retries after 429, 502, 503, 504 or a broken connection. Default 2; 0: never. */
  readonly retries_max?: number;
  /** Timeout of one attempt, in addition to `wait`. Default 30; Infinity: no timeout. A backtest has none. */
  readonly answer_seconds_max?: number;
  /** The longest Retry-After to wait for. After a longer one the client throws at once. Default 60. */
  readonly retry_wait_seconds_max?: number;
  /** Waits for this many milliseconds, or until the signal is aborted. Default: setTimeout. */
  readonly wait?: (wait_ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Values of the headers `traceparent` and `tracestate`. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** Makes a POST safe to retry: the service returns the first answer again. */
  readonly idempotency_key?: string;
  /**
   * True: safe to retry, because the request changes nothing or its body prevents a second effect. GET and PUT always
   * are.
   */
  readonly repeatable?: boolean;
  readonly agent_token?: boolean;
  readonly trace?: TraceContext | undefined;
  /** True: continues during outages of the service of up to about five minutes. */
  readonly over_outages?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The result is the body, unparsed. */
  readonly as?: "text" | "bytes";
  /** Requests lines and gets each of them, the next one after its promise. The last one is the answer. */
  readonly onLine?: (line: unknown) => void | Promise<void>;
}

/** Sends one request and returns the parsed answer, or null for an answer without a body. */
export type Transport = <T>(method: string, path: string, options?: CallOptions) => Promise<T>;

/** Throws a TypeError for an invalid `base_url`. */
export function createTransport(options: TransportOptions): Transport {
  const base = baseOf(options.base_url);
  const send = options.fetch ?? globalThis.fetch;
  const retriesMax = options.retries_max ?? 2;
  const waitSecondsMax = options.retry_wait_seconds_max ?? 60;
  const wait = options.wait ?? timeout;
  const answerSecondsMax = options.answer_seconds_max ?? 30;

  return async <T>(method: string, path: string, call: CallOptions = {}): Promise<T> => {
    checkSegments(path);
    checkKey(options.api_key);
    checkIdempotencyKey(call.idempotency_key);
    const repeatable =
      method === "GET" || method === "PUT" || call.repeatable === true || call.idempotency_key !== undefined;
    const patient = call.over_outages === true && retriesMax > 0;
    const patience_seconds = call.onLine === undefined ? answerSecondsMax + Number(call.query?.wait ?? 0) : null;
    let waited_seconds = 0;
    const goesOn = (retry: number, wait_seconds: number) =>
      patient ? waited_seconds + wait_seconds <= outage_seconds_max : retry < retriesMax;
    const pause = async (wait_seconds: number) => {
      waited_seconds += wait_seconds;
      await wait(wait_seconds * 1000, call.signal);
    };
    for (let retry = 0; ; retry += 1) {
      const url = `${base}${path}${queryText(shorterWait(call.query, retry))}`;
      const token = call.agent_token === true ? await agentToken(options.agent_token) : undefined;
      const init = request(method, call, options.api_key, token);
      const answer = await attempt(send, url, init, patience_seconds, call.as === "bytes");
      if ("response" in answer) {
        const { response, text } = answer;
        if (text === null) return (await lastLine(response, url, call.onLine, call.signal)) as T;
        if (response.ok && call.as !== undefined) return (answer.bytes ?? text) as T;
        if (response.ok) return bodyOf(response, text) as T;
        const error = apiErrorOf(response, text);
        const wait_seconds = secondsToWait(error, repeatable, retry);
        if (wait_seconds === null || wait_seconds > waitSecondsMax || !goesOn(retry, wait_seconds)) throw error;
        await pause(wait_seconds);
      } else {
        waited_seconds += answer.waited_seconds;
        const wait_seconds = backoffSeconds(retry);
        if (!repeatable || call.signal?.aborted === true || !goesOn(retry, wait_seconds)) throw answer.error;
        await pause(wait_seconds);
      }
      call.signal?.throwIfAborted();
    }
  };
}

/**
 * Parses the address. Errors do not quote it, because it may contain a password. `fetch` refuses such an address and
 * quotes it.
 */
function baseOf(base_url: string): string {
  const base = `${base_url}`.trim().replace(/\/+$/, "");
  const url = /^https?:\/\/[^\s?#]+$/i.test(base) ? readUrl(base) : null;
  if (url === null) throw new TypeError("base_url takes an address such as http://127.0.0.1:8080");
  if (url.username !== "" || url.password !== "")
    throw new TypeError("base_url takes an address without user and password: give the key as api_key");
  return base;
}

/** In Node 20, `URL.canParse` refuses hosts with characters from U+0080 to U+00FF once it is compiled. */
function readUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** `fetch` resolves `.` and `..` in a path, escaped or not, so the request would go to another operation. */
function checkSegments(path: string): void {
  const wrong = path
    .split("/")
    .slice(1)
    .find((segment) => ["", ".", ".."].includes(segment));
  if (wrong === undefined) return;
  throw new TypeError(`nothing was sent: no URL can hold ${JSON.stringify(wrong)} as an identifier in ${path}`);
}

/** A header that `fetch` refuses looks like an unavailable service and would be retried. */
function checkIdempotencyKey(key = "-"): void {
  if (/^[ -~]+$/.test(key)) return;
  throw new TypeError(`nothing was sent: idempotency_key takes printable ASCII characters, not ${JSON.stringify(key)}`);
}

/** `fetch` quotes a header that it refuses, so the log would contain the key. */
function checkKey(api_key = ""): void {
  if (!/[^ -~]/.test(api_key.trim())) return;
  throw new ApiError({
    status: 401,
    code: "invalid_api_key",
    message: "nothing was sent: the API key contains a character that no key has",
    details: [],
    request_id: null,
    retry_after_seconds: null,
  });
}

/** `fetch` quotes a header that it refuses, so the log would contain the token. */
async function agentToken(given: TransportOptions["agent_token"]): Promise<string | undefined> {
  const token = (typeof given === "function" ? await given() : given)?.trim();
  if (token === undefined || /^[!-~]+$/.test(token)) return token;
  throw new TypeError("nothing was sent: the agent token is empty or contains a character that no token has");
}

/** Returns the parsed body, or null without one, which only 202 and 204 may have. */
function bodyOf(response: Response, text: string): unknown {
  try {
    return text === "" && [202, 204].includes(response.status) ? null : JSON.parse(text);
  } catch {
    throw apiErrorOf(response, text);
  }
}

const acceptedTypes = { json: "application/json", text: "text/plain", bytes: "application/octet-stream" } as const;

function request(
  method: string,
  call: CallOptions,
  api_key: string | undefined,
  agent_token: string | undefined,
): RequestInit {
  const accept = call.onLine === undefined ? acceptedTypes[call.as ?? "json"] : lines_type;
  const headers: Record<string, string> = { accept };
  if (api_key !== undefined) headers["x-api-key"] = api_key;
  if (agent_token !== undefined) headers["agent-token"] = agent_token;
  if (call.idempotency_key !== undefined) headers["idempotency-key"] = call.idempotency_key;
  const { traceparent, tracestate } = traceOf(call.trace);
  if (traceparent !== undefined) headers["traceparent"] = traceparent;
  if (tracestate !== undefined) headers["tracestate"] = tracestate;
  if (call.body !== undefined) headers["content-type"] = "application/json";
  return {
    method,
    headers,
    redirect: "error", // The service never redirects. Following a redirect would send the key to another host.
    ...(call.body === undefined ? {} : { body: bodyText(call.body) }),
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  };
}

/** Omits an invalid trace context, because it must not stop a request. A tracestate counts only with its traceparent. */
function traceOf(trace: TraceContext | undefined): Partial<TraceContext> {
  if (trace === undefined || !/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(trace.traceparent)) return {};
  const { traceparent, tracestate } = trace;
  return tracestate !== undefined && /^[ -~]{1,512}$/.test(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/** `text` is null for lines, which are still unread. */
interface Answer {
  readonly response: Response;
  readonly text: string | null;
  /** Null: not asked for. */
  readonly bytes: Uint8Array | null;
}

/** `waited_seconds`: the timeout that passed; 0: the connection broke. */
interface NoAnswer {
  readonly error: ConnectionError;
  readonly waited_seconds: number;
}

/** Timers of more than about 24 days end at once. */
const timer_ms_max = 2 ** 31 - 1;

async function attempt(
  send: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  patience_seconds: number | null,
  as_bytes: boolean,
): Promise<Answer | NoAnswer> {
  init.signal?.throwIfAborted();
  const limit = new AbortController();
  const giveUp = () => limit.abort(init.signal?.reason);
  const patience_ms = (patience_seconds ?? Infinity) * 1000;
  const timer = patience_ms > timer_ms_max ? undefined : setTimeout(giveUp, patience_ms);
  // AbortSignal.any would keep a reference from a caller's long-lived signal to every call.
  init.signal?.addEventListener("abort", giveUp);
  try {
    const response = await send(url, patience_seconds === null ? init : { ...init, signal: limit.signal });
    const isLines = response.ok && response.headers.get("content-type")?.startsWith(lines_type) === true;
    const bytes = response.ok && as_bytes ? new Uint8Array(await response.arrayBuffer()) : null;
    return { response, text: isLines ? null : bytes === null ? await response.text() : "", bytes };
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    const waited_seconds = limit.signal.aborted ? (patience_seconds ?? 0) : 0;
    const cause = limit.signal.aborted ? `it did not come within ${patience_seconds} s` : error;
    return { error: new ConnectionError(url, cause), waited_seconds };
  } finally {
    clearTimeout(timer);
    init.signal?.removeEventListener("abort", giveUp);
  }
}

/** Resolves after this time, or when the signal is aborted. */
function timeout(wait_ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, wait_ms);
    signal?.addEventListener("abort", end);
    if (signal?.aborted === true) end();
  });
}

/**
 * Returns the seconds before a retry, or null for no retry. After 429 and `overloaded` nothing was stored, so every
 * request may be retried. After another 503, or a proxy's answer during a restart, only repeatable requests are
 * retried.
 */
function secondsToWait(error: ApiError, repeatable: boolean, retry: number): number | null {
  const nothingStored = error.status === 429 || error.code === "overloaded";
  const outage = [502, 503, 504].includes(error.status);
  if (!nothingStored && !(outage && repeatable)) return null;
  // Also instead of 0, because calls that continue during outages would otherwise retry without a pause.
  return error.retry_after_seconds || backoffSeconds(retry);
}

/** Total wait of a call that continues during outages. */
const outage_seconds_max = 300;

const backoffSeconds = (retry: number) => Math.min(8, 0.25 * 2 ** retry);

/** Halves `wait` at each retry, because a proxy with a shorter timeout would never pass an answer on. */
function shorterWait(query: CallOptions["query"], retry: number): CallOptions["query"] {
  const wait = query?.["wait"];
  return typeof wait === "number" ? { ...query, wait: Math.floor(wait / 2 ** retry) } : query;
}

function queryText(query: CallOptions["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? "" : `?${params}`;
}
