import { lastLine, lines_type } from "./answer-lines.ts";
import { bodyText } from "./body-text.ts";
import { ApiError, apiErrorOf, ConnectionError } from "./errors.ts";

/** How to reach the service. */
export interface TransportOptions {
  /** Where the service answers, such as `https://countersign.example.com`; a path is kept, a slash at its end is not. */
  readonly base_url: string;
  /** Sent as X-API-Key; leave it out for the operations that need none. */
  readonly api_key?: string | undefined;
  /** Another `fetch`, for tests, proxies and older runtimes. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** How often a request is sent again after 429, 502, 503, 504 or a broken connection. Default 2; 0 never repeats. */
  readonly retries_max?: number;
  /**
   * How long one attempt may take until its answer is there, beside what `wait` asks for. Default 30; Infinity: as long as it
   * takes. A backtest takes what it takes.
   */
  readonly answer_seconds_max?: number;
  /** The longest Retry-After that is waited for; a longer one is thrown to the caller at once. Default 60. */
  readonly retry_wait_seconds_max?: number;
  /** How a wait is spent, in milliseconds; it ends early when the call's signal is aborted. Default setTimeout. */
  readonly wait?: (wait_ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** What a call may carry. */
export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  /** Makes a POST safe to repeat: the service gives the first answer again. */
  readonly idempotency_key?: string;
  /** True: the request changes nothing, or is made safe to repeat in its body. GET and PUT are anyway. */
  readonly repeatable?: boolean;
  /** True: goes on asking while the service is restarted, for some five minutes at a time. */
  readonly over_outages?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Asks for the answer line by line and hears every line; the last one is the answer. */
  readonly onLine?: (line: unknown) => void;
}

/** Sends one request and gives the parsed answer; null for an answer without a body. */
export type Transport = <T>(method: string, path: string, options?: CallOptions) => Promise<T>;

/** Builds the function that every method of the client goes through. Throws a TypeError for a `base_url` that is no address. */
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
      const answer = await attempt(send, url, request(method, call, options.api_key), patience_seconds);
      if ("response" in answer) {
        const { response, text } = answer;
        if (text === null) return (await lastLine(response, url, call.onLine, call.signal)) as T;
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

/** Without the text in what it throws, where a password may stand: `fetch` refuses that, and quotes it. */
function baseOf(base_url: string): string {
  const base = `${base_url}`.trim().replace(/\/+$/, "");
  const url = /^https?:\/\/[^\s?#]+$/i.test(base) && URL.canParse(base) ? new URL(base) : null;
  if (url === null) throw new TypeError("base_url takes an address such as http://127.0.0.1:8080");
  if (url.username !== "" || url.password !== "")
    throw new TypeError("base_url takes an address without user and password: give the key as api_key");
  return base;
}

/** `fetch` folds `.` and `..` out of a path, escaped or not: the request would go to another operation than it names. */
function checkSegments(path: string): void {
  const wrong = path
    .split("/")
    .slice(1)
    .find((segment) => ["", ".", ".."].includes(segment));
  if (wrong === undefined) return;
  throw new TypeError(`nothing was sent: no URL can hold ${JSON.stringify(wrong)} as an identifier in ${path}`);
}

/** What `fetch` refuses in a header looks like a service that is away: it would be asked again, and never answer. */
function checkIdempotencyKey(key = "-"): void {
  if (/^[ -~]+$/.test(key)) return;
  throw new TypeError(`nothing was sent: idempotency_key takes printable ASCII characters, not ${JSON.stringify(key)}`);
}

/** What `fetch` refuses in a header it quotes: such a key would stand in the log, as the reason why there is no answer. */
function checkKey(api_key = ""): void {
  if (!/[^ -~]/.test(api_key.trim())) return;
  throw new ApiError({
    status: 401,
    code: "invalid_api_key",
    message: "nothing was sent: the API key holds a character that no key has",
    details: [],
    request_id: null,
    retry_after_seconds: null,
  });
}

/** The parsed body; null without one, which 202 may be as well as 204. Nothing else of the service's is empty. */
function bodyOf(response: Response, text: string): unknown {
  try {
    return text === "" && [202, 204].includes(response.status) ? null : JSON.parse(text);
  } catch {
    throw apiErrorOf(response, text);
  }
}

function request(method: string, call: CallOptions, api_key: string | undefined): RequestInit {
  const headers: Record<string, string> = { accept: call.onLine === undefined ? "application/json" : lines_type };
  if (api_key !== undefined) headers["x-api-key"] = api_key;
  if (call.idempotency_key !== undefined) headers["idempotency-key"] = call.idempotency_key;
  if (call.body !== undefined) headers["content-type"] = "application/json";
  return {
    method,
    headers,
    redirect: "error", // the service never redirects; following one would hand the key to somebody else
    ...(call.body === undefined ? {} : { body: bodyText(call.body) }),
    ...(call.signal === undefined ? {} : { signal: call.signal }),
  };
}

/** An answer that came whole; `text` is null of lines, which are still to be read. */
interface Answer {
  readonly response: Response;
  readonly text: string | null;
}

/** No answer. `waited_seconds`: for so long none came; 0: the connection broke. */
interface NoAnswer {
  readonly error: ConnectionError;
  readonly waited_seconds: number;
}

/** Timers of more than some 24 days end at once. */
const timer_ms_max = 2 ** 31 - 1;

async function attempt(
  send: typeof globalThis.fetch,
  url: string,
  init: RequestInit,
  patience_seconds: number | null,
): Promise<Answer | NoAnswer> {
  init.signal?.throwIfAborted();
  const limit = new AbortController();
  const giveUp = () => limit.abort(init.signal?.reason);
  const patience_ms = (patience_seconds ?? Infinity) * 1000;
  const timer = patience_ms > timer_ms_max ? undefined : setTimeout(giveUp, patience_ms);
  // Not AbortSignal.any: a caller's signal that lives as long as its program would remember every call.
  init.signal?.addEventListener("abort", giveUp);
  try {
    const response = await send(url, patience_seconds === null ? init : { ...init, signal: limit.signal });
    const isLines = response.ok && response.headers.get("content-type")?.startsWith(lines_type) === true;
    return { response, text: isLines ? null : await response.text() };
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

/** Resolves after that long, or as soon as the signal is aborted. */
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
 * 429 and `overloaded` mean that nothing was stored, so anything may be sent again. Another 503, and what a proxy says while
 * the service is restarted, leave open whether the request took effect: only what is safe to repeat is repeated. Null: do not
 * repeat.
 */
function secondsToWait(error: ApiError, repeatable: boolean, retry: number): number | null {
  const nothingStored = error.status === 429 || error.code === "overloaded";
  const outage = [502, 503, 504].includes(error.status);
  if (!nothingStored && !(outage && repeatable)) return null;
  // Also in place of 0: whoever goes on over outages would do so without a pause, for ever.
  return error.retry_after_seconds || backoffSeconds(retry);
}

/** For so long altogether a call waits that goes on over outages. */
const outage_seconds_max = 300;

const backoffSeconds = (retry: number) => Math.min(8, 0.25 * 2 ** retry);

/** Half of `wait` at each repeat: a proxy in between may wait less long than that for any answer, and so never hand one on. */
function shorterWait(query: CallOptions["query"], retry: number): CallOptions["query"] {
  const wait = query?.["wait"];
  return typeof wait === "number" ? { ...query, wait: Math.floor(wait / 2 ** retry) } : query;
}

function queryText(query: CallOptions["query"]): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) params.set(name, String(value));
  return params.size === 0 ? "" : `?${params}`;
}
