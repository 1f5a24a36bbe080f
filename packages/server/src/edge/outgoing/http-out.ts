/**
 * The one guarded client for addresses that somebody else named.
 *
 * The address that is judged is the address that is dialled: the name is looked up here, every answer is judged, and the
 * connection is pinned to those answers, so nothing that DNS says a moment later matters. One absolute timer runs over
 * everything from the lookup to the head of the answer: the phase time-outs of undici and `http.request({timeout})` are
 * idle timers, and a receiver that sent a byte every 100 ms was never cut (measured). Proxy variables are not read.
 */
import { isIP, type LookupFunction, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { limits } from "@countersign/contract";
import {
  type AttemptResult,
  checkWebhookUrl,
  judgeAnswer,
  refusedAddresses,
  type WebhookUrlRules,
} from "@countersign/core";
import { LRUCache } from "lru-cache";
import { buildConnector, type Dispatcher, errors, Pool } from "undici";
import type { Answered, HttpOut, Timers } from "../../ports.ts";
import { timers } from "../timers.ts";
import { exchange } from "./http-exchange.ts";
import { AttemptFailure, failureText } from "./http-out-failures.ts";
import { passOver100 } from "./interim-answers.ts";
import { createNameLookup, lookupBySystem, type ResolveName, sharedLookups } from "./name-lookup.ts";

/** What an operator or a test sets; the rest is the contract's. */
export interface HttpOutOptions {
  readonly rules: WebhookUrlRules;
  readonly resolve?: ResolveName;
  /** Certificate authorities in place of the system's, in PEM. */
  readonly ca?: string;
  readonly timeout_ms?: number;
  /** Tests only: in place of the process's timers. */
  readonly after?: Timers["after"];
}

/** The client, with its way to end. */
export interface GuardedHttpOut extends HttpOut {
  /** Drops every connection, those being made included, and gives up lookups: nothing keeps the thread for which it works. */
  close(): Promise<void>;
}

interface Target {
  readonly verdict: ReturnType<typeof checkWebhookUrl>;
  readonly origin: string;
  readonly path: string;
  /** What the latest addresses came to: lookups of the same second give the same list. */
  latest: Judged;
}

interface Judged {
  readonly addresses: readonly string[];
  readonly refused: string | null;
  /** The same for the same addresses in another order. */
  readonly key: string;
}

/** An address literal needs no others. */
const no_addresses: readonly string[] = [];

const registration_lookup_ms = 2_000;
const pools_max = 1_000;
const nothing = (): void => undefined;

/** Creates the client. */
export function createHttpOut(options: HttpOutOptions): GuardedHttpOut {
  const { rules, ca, timeout_ms = limits.delivery_attempt_timeout_ms, after = timers.after } = options;
  // Only where the operator allows private networks the machine's own names (hosts file) are asked for too.
  const system = rules.allow_networks.length > 0 ? { system: lookupBySystem } : {};
  const closing = new AbortController();
  const addressesOf = sharedLookups(options.resolve ?? createNameLookup({ ...system, signal: closing.signal }));
  const making = new Set<Socket>();
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
    const target = { verdict, origin, path: pathname + search, latest: { addresses: [], refused: null, key: "" } };
    targets.set(url, target);
    return target;
  }

  /** Judges each address; one bad one condemns them all. */
  function judged(target: Target, host: string, addresses: readonly string[]): Judged {
    if (target.latest.addresses !== addresses) {
      const key = [target.origin, ...[...addresses].sort()].join(" ");
      target.latest = { addresses, refused: refusedAddresses(host, addresses, rules), key };
    }
    return target.latest;
  }

  function poolOf(origin: string, { addresses, key: addresses_key }: Judged, connect_ms: number): Pool {
    const key = `${connect_ms} ${addresses_key}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    const trusted = ca === undefined ? {} : { ca };
    const connect = connector(
      {
        ...trusted,
        timeout: connect_ms,
        lookup: pinnedTo(addresses),
        autoSelectFamily: true,
      } as buildConnector.BuildOptions,
      making,
    );
    // No bound on connections: receivers of many organizations may share an origin, and one of them that hangs would take
    // all of them. How many requests are in flight is bounded by who sends them.
    const pool = new Pool(origin, { connect, headersTimeout: 0, bodyTimeout: 0 });
    pools.set(key, pool);
    return pool;
  }

  /**
   * Connections to where the URL leads now; throws why there is none to be made. `connect_ms`: after this a connection that
   * is not made yet is given up even when nobody waits for it any more.
   */
  function wayTo(target: Target, addresses: readonly string[], connect_ms: number): Pool {
    if ("refused" in target.verdict) throw new AttemptFailure("refused", { sentence: target.verdict.refused });
    const route = judged(target, target.verdict.host, addresses);
    if (route.refused !== null) throw new AttemptFailure("refused", { sentence: route.refused });
    return poolOf(target.origin, route, connect_ms);
  }

  /** Null: the URL names an address, or is refused. */
  function nameIn({ verdict }: Target): string | null {
    return "refused" in verdict || verdict.literal ? null : verdict.host;
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

    post(url, headers, body) {
      return new Promise((resolve) => {
        const started_ms = performance.now();
        let over = false;
        let abort = nothing;
        /** The first end is the attempt's. */
        function end(result: AttemptResult): void {
          if (over) return;
          over = true;
          cancelLimit();
          resolve({ ...result, duration_ms: Math.round((performance.now() - started_ms) * 10) / 10 });
        }
        const fail = (error: unknown) => end({ response_status: null, error: failureText(error, timeout_ms) });
        const target = targetOf(url);
        const name = nameIn(target);
        let looking = name !== null;
        const cancelLimit = after(timeout_ms, () => {
          fail(looking ? new AttemptFailure("name_server_silent") : new DOMException("late", "TimeoutError"));
          abort();
        });

        function send(addresses: readonly string[]): void {
          looking = false;
          // Out of time during the lookup: nothing is sent any more.
          if (over) return;
          try {
            const dispatcher = wayTo(target, addresses, timeout_ms);
            const terms = { dispatcher, path: target.path, headers, body, after };
            ({ abort } = exchange(terms, (status) => end(judgeAnswer(status)), fail));
          } catch (error) {
            fail(error);
          }
        }
        if (name === null) send(no_addresses);
        else addressesOf(name).then(send, fail);
      });
    },

    async ask(url, headers, body, { timeout_ms: ask_ms, answer_bytes_max, method = "POST" }) {
      const signal = AbortSignal.timeout(ask_ms);
      try {
        const target = targetOf(url);
        const name = nameIn(target);
        const addresses = name === null ? no_addresses : await within(signal, addressesOf(name));
        signal.throwIfAborted();
        const pool = wayTo(target, addresses, limits.context_source_timeout_ms_max);
        const request = { method, path: target.path, headers, body: method === "GET" ? null : body, signal };
        // undici hears of an abort only once the request has a connection, so the race is ours.
        return await within(
          signal,
          pool.request(request).then((head) => wholeAnswer(head, answer_bytes_max)),
        );
      } catch (error) {
        const refused = error instanceof AttemptFailure && error.failure === "refused";
        const failed = refused ? "refused" : signal.aborted ? "timeout" : "unreachable";
        return { failed, text: failureText(error, ask_ms) };
      }
    },

    async close() {
      closing.abort();
      for (const socket of making) socket.destroy(new errors.SocketError("closed"));
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      pools.clear();
    },
  };
}

/** Rejects with the signal's reason as soon as it is aborted. */
function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Answers every lookup of a connection with the addresses that were judged. Never at once, like the lookup that it stands
 * for: a connection that fails in the same tick (no route to an IPv6 address) fails before anybody listens to its errors,
 * which ended the process (measured).
 */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all: wantsAll }, callback) => {
    const [first] = all;
    process.nextTick(() => {
      if (first === undefined) callback(new Error("an address literal needs no lookup"), "");
      else if (wantsAll) callback(null, all);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * Makes connections that an abort ends for good. undici ends them with an error after which it connects once more, for the
 * request that it then passes over: a receiver that never answered saw a second, empty connection (measured). `making` holds
 * those that are being made: undici forgets them when its pool is destroyed, and one to a receiver that is silent in the
 * handshake held a thread that was told to end for the rest of its ten seconds (measured).
 */
function connector(options: buildConnector.BuildOptions, making: Set<Socket>): buildConnector.connector {
  // It gives back the socket at once, which its types do not say.
  const connect = buildConnector(options) as (...call: Parameters<buildConnector.connector>) => Socket;
  return (target, callback) => {
    const begun = connect(target, (...made) => {
      making.delete(begun);
      const [error, socket] = made;
      if (error === null) {
        passOver100(socket);
        const destroy = socket.destroy.bind(socket);
        socket.destroy = (reason) => {
          const aborted = reason instanceof errors.InformationalError && reason.message === "aborted";
          return destroy(aborted ? new errors.SocketError("aborted") : reason);
        };
      }
      callback(...made);
    });
    making.add(begun);
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
