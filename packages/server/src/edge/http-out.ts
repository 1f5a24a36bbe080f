/**
 * The one guarded client for addresses that somebody else named.
 *
 * The address that is judged is the address that is dialled: the name is looked up here, every answer is judged, and the
 * connection is pinned to those answers, so nothing that DNS says a moment later matters. One absolute timer runs over
 * everything from the lookup to the head of the answer: the phase time-outs of undici and `http.request({timeout})` are
 * idle timers, and a receiver that sent a byte every 100 ms was never cut (measured). Proxy variables are not read.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { performance } from "node:perf_hooks";
import { limits } from "@countersign/contract";
import { checkWebhookUrl, judgeAnswer, refusedAddresses, type WebhookUrlRules } from "@countersign/core";
import { LRUCache } from "lru-cache";
import { type Dispatcher, Pool } from "undici";
import type { Answered, HttpOut } from "../ports.ts";
import { failureText } from "./http-out-failures.ts";

/** The addresses of a name; rejects when it has none. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

/** What an operator or a test sets; the rest is the contract's. */
export interface HttpOutOptions {
  readonly rules: WebhookUrlRules;
  readonly resolve?: ResolveName;
  /** Certificate authorities in place of the system's, in PEM. */
  readonly ca?: string;
  readonly timeout_ms?: number;
}

/** The client, with its way to end. */
export interface GuardedHttpOut extends HttpOut {
  /** Drops every connection. */
  close(): Promise<void>;
}

interface Target {
  readonly verdict: ReturnType<typeof checkWebhookUrl>;
  readonly origin: string;
  readonly path: string;
}

const registration_lookup_ms = 2_000;
/** Attempts within a second share one lookup: a burst to one receiver is no burst to the name server. */
const lookup_kept_ms = 1_000;
/** For as long the rest of a body may still come, so that its connection can be used again. */
const rest_of_body_ms = 1_000;
const pools_max = 1_000;

/** Creates the client. */
export function createHttpOut(options: HttpOutOptions): GuardedHttpOut {
  const { rules, ca, timeout_ms = limits.delivery_attempt_timeout_ms } = options;
  const resolve = options.resolve ?? resolverOf(rules);
  const lookups = new LRUCache<string, Promise<readonly string[]>>({ max: pools_max, ttl: lookup_kept_ms });
  const targets = new LRUCache<string, Target>({ max: pools_max });
  const pools = new LRUCache<string, Pool>({
    max: pools_max,
    dispose: (pool) => void pool.close().catch(() => undefined),
  });

  /** What the text of a URL alone says; it says the same each time. */
  function targetOf(url: string): Target {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const verdict = checkWebhookUrl(url, rules);
    const { origin, pathname, search } =
      "refused" in verdict ? { origin: "", pathname: "", search: "" } : new URL(verdict.href);
    const target = { verdict, origin, path: pathname + search };
    targets.set(url, target);
    return target;
  }

  function addressesOf(host: string): Promise<readonly string[]> {
    const known = lookups.get(host);
    if (known !== undefined) return known;
    const looking = resolve(host);
    looking.catch(() => undefined);
    lookups.set(host, looking);
    return looking;
  }

  function poolOf(origin: string, addresses: readonly string[], connect_ms: number): Pool {
    const key = [origin, connect_ms, ...addresses].join(" ");
    const known = pools.get(key);
    if (known !== undefined) return known;
    const trusted = ca === undefined ? {} : { ca };
    const connect = { ...trusted, timeout: connect_ms, lookup: pinnedTo(addresses) };
    // No bound on connections: receivers of many organizations may share an origin, and one of them that hangs would take
    // all of them. How many requests are in flight is bounded by who sends them.
    const pool = new Pool(origin, { connect, autoSelectFamily: true, headersTimeout: 0, bodyTimeout: 0 });
    pools.set(key, pool);
    return pool;
  }

  /**
   * The head of the answer, its body unread. Throws what went wrong; a refusal of the guard is an Error with its sentence.
   * `connect_ms`: after this a connection that is not made yet is given up even when nobody waits for it any more.
   */
  async function send(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
    connect_ms: number,
    method: "GET" | "POST" = "POST",
  ): Promise<Dispatcher.ResponseData> {
    const { verdict, origin, path } = targetOf(url);
    if ("refused" in verdict) throw new RefusedAddress(verdict.refused);
    const addresses = verdict.literal ? [] : await addressesOf(verdict.host);
    const refused = refusedAddresses(verdict.host, addresses, rules);
    if (refused !== null) throw new RefusedAddress(refused);
    // Out of time during the lookup: nothing must be sent any more.
    signal.throwIfAborted();
    const request = { method, path, headers, body: method === "GET" ? null : body, signal };
    return poolOf(origin, [...addresses].sort(), connect_ms).request(request);
  }

  return {
    async check(url) {
      const verdict = checkWebhookUrl(url, rules);
      if ("refused" in verdict || verdict.literal) return verdict;
      const signal = AbortSignal.timeout(registration_lookup_ms);
      const addresses = await within(signal, addressesOf(verdict.host)).catch(() => []);
      const refused = refusedAddresses(verdict.host, addresses, rules);
      return refused === null ? verdict : { refused };
    },

    async post(url, headers, body) {
      const started_ms = performance.now();
      const elapsed = () => Math.round((performance.now() - started_ms) * 10) / 10;
      const { signal, end } = timeLimit(timeout_ms);
      try {
        // undici hears of an abort only once the request has a connection, so the race is ours.
        const answer = await within(signal, send(url, headers, body, signal, timeout_ms));
        dropBody(answer.body);
        return { ...judgeAnswer(answer.statusCode), duration_ms: elapsed() };
      } catch (error) {
        const text = error instanceof RefusedAddress ? error.message : failureText(error, timeout_ms);
        return { response_status: null, error: text, duration_ms: elapsed() };
      } finally {
        end();
      }
    },

    async ask(url, headers, body, { timeout_ms: ask_ms, answer_bytes_max, method }) {
      const signal = AbortSignal.timeout(ask_ms);
      try {
        const answer = send(url, headers, body, signal, limits.context_source_timeout_ms_max, method);
        return await within(
          signal,
          answer.then((head) => wholeAnswer(head, answer_bytes_max)),
        );
      } catch (error) {
        if (error instanceof RefusedAddress) return { failed: "refused", text: error.message };
        return { failed: signal.aborted ? "timeout" : "unreachable", text: failureText(error, ask_ms) };
      }
    },

    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      pools.clear();
    },
  };
}

class RefusedAddress extends Error {}

/** `AbortSignal.timeout` for thousands a second: its bookkeeping for the garbage collector cost more than the timer. */
function timeLimit(timeout_ms: number): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException("out of time", "TimeoutError")), timeout_ms);
  timer.unref();
  return { signal: controller.signal, end: () => clearTimeout(timer) };
}

/** Rejects with the signal's reason as soon as it is aborted. */
function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Answers every lookup of a connection with the addresses that were judged. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll }, callback) => {
    const [first] = all;
    if (first === undefined) return callback(new Error("an address literal needs no lookup"), "");
    if (wantsAll) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

/** Reads no more than may be kept; what is longer is cut off with its connection. */
async function wholeAnswer(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  bytes_max: number,
): Promise<Answered> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop destroys the body.
    if (bytes > bytes_max) return { failed: "too_large", text: `The answer has more than ${bytes_max} bytes.` };
    chunks.push(chunk);
  }
  const named = (name: string) => (headers[name] === undefined ? null : String(headers[name]));
  const [cache_control, content_type] = [named("cache-control"), named("content-type")];
  return { status, body: Buffer.concat(chunks), cache_control, content_type };
}

/** 2xx at the head is success; what follows is read so far that the connection stays usable, and otherwise cut. */
function dropBody(body: Dispatcher.ResponseData["body"]): void {
  const timer = setTimeout(() => body.destroy(), rest_of_body_ms);
  timer.unref();
  body
    .dump({ limit: limits.delivery_answer_bytes_max })
    .catch(() => undefined)
    .finally(() => clearTimeout(timer));
}

/**
 * c-ares, not `dns.lookup`: that one shares four threads with everything else, and took 7 s behind four password hashes
 * (measured). Only where the operator allows private networks the machine's own names (hosts file) are asked too.
 */
function resolverOf(rules: WebhookUrlRules): ResolveName {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (addresses.length > 0) return addresses;
    if (rules.allow_networks.length > 0) return (await systemLookup(host, { all: true })).map(({ address }) => address);
    throw answers[0].status === "rejected" ? answers[0].reason : new Error(`${host} has no address`);
  };
}
