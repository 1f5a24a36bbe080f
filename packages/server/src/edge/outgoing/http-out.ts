/**
 * The only client for addresses that customers configure. Judges every address and connects only to those. One absolute
 * timer runs from the lookup to the status line. Idle timers never ended a request to a receiver that sent one byte
 * every 100 ms. Proxy variables are ignored.
 */
import { performance } from "node:perf_hooks";
import { limits } from "@countersign/contract";
import {
  type AttemptResult,
  checkWebhookUrl,
  judgeAnswer,
  refusedAddresses,
  type WebhookUrlRules,
} from "@countersign/core";
import type { Dispatcher } from "undici";
import type { Answered, HttpOut, Timers } from "../../ports.ts";
import { timers } from "../timers.ts";
import { GuardedConnections, nameIn } from "./guarded-connections.ts";
import { exchange } from "./http-exchange.ts";
import { AttemptFailure, failureText } from "./http-out-failures.ts";
import { createNameLookup, lookupBySystem, type ResolveName, sharedLookups } from "./name-lookup.ts";

export interface HttpOutOptions {
  readonly rules: WebhookUrlRules;
  readonly resolve?: ResolveName;
  /** In PEM. Default: the system's. */
  readonly ca?: string;
  readonly timeout_ms?: number;
  /** Only for tests. */
  readonly after?: Timers["after"];
}

export interface GuardedHttpOut extends HttpOut {
  /** Closes every connection and lookup, so that the thread can end. */
  close(): Promise<void>;
}

interface Client {
  readonly rules: WebhookUrlRules;
  readonly connections: GuardedConnections;
  readonly addressesOf: (name: string) => Promise<readonly string[]>;
  readonly timeout_ms: number;
  readonly after: Timers["after"];
}

const noAddresses: readonly string[] = [];

const registration_lookup_ms = 2_000;
const nothing = (): void => undefined;

export function createHttpOut(options: HttpOutOptions): GuardedHttpOut {
  const { rules, timeout_ms = limits.delivery_attempt_timeout_ms, after = timers.after } = options;
  // The hosts file is used only if the operator allows private networks.
  const system = rules.allow_networks.length > 0 ? { system: lookupBySystem } : {};
  const closing = new AbortController();
  const addressesOf = sharedLookups(options.resolve ?? createNameLookup({ ...system, signal: closing.signal }));
  const connections = new GuardedConnections(rules, options.ca);
  const client: Client = { rules, connections, addressesOf, timeout_ms, after };
  return {
    check: (url) => check(client, url),
    post: (url, headers, body) => post(client, url, headers, body),
    ask: (url, headers, body, terms) => ask(client, url, headers, body, terms),
    close() {
      closing.abort();
      return connections.close();
    },
  };
}

async function check({ rules, addressesOf }: Client, url: string): ReturnType<HttpOut["check"]> {
  const verdict = checkWebhookUrl(url, rules);
  if ("refused" in verdict || verdict.literal) return verdict;
  const signal = AbortSignal.timeout(registration_lookup_ms);
  const addresses = await within(signal, addressesOf(verdict.host)).catch(() => []);
  const refused = refusedAddresses(verdict.host, addresses, rules);
  return refused === null ? verdict : { refused };
}

function post(client: Client, ...[url, headers, body]: Parameters<HttpOut["post"]>): ReturnType<HttpOut["post"]> {
  const { connections, addressesOf, timeout_ms, after } = client;
  return new Promise((resolve) => {
    const started_ms = performance.now();
    let ended = false;
    let abort = nothing;
    /** Only the first call counts. */
    function end(result: AttemptResult): void {
      if (ended) return;
      ended = true;
      cancelLimit();
      resolve({ ...result, duration_ms: Math.round((performance.now() - started_ms) * 10) / 10 });
    }
    const fail = (error: unknown) => end({ response_status: null, error: failureText(error, timeout_ms) });
    const target = connections.targetOf(url);
    const name = nameIn(target);
    let looking = name !== null;
    const cancelLimit = after(timeout_ms, () => {
      fail(looking ? new AttemptFailure("name_server_silent") : new DOMException("late", "TimeoutError"));
      abort();
    });

    function send(addresses: readonly string[]): void {
      looking = false;
      // Timed out during the lookup: sends nothing.
      if (ended) return;
      try {
        const dispatcher = connections.poolFor(target, addresses, timeout_ms);
        const terms = { dispatcher, path: target.path, headers, body, after };
        ({ abort } = exchange(terms, (status) => end(judgeAnswer(status)), fail));
      } catch (error) {
        fail(error);
      }
    }
    if (name === null) send(noAddresses);
    else addressesOf(name).then(send, fail);
  });
}

async function ask(client: Client, ...[url, headers, body, terms]: Parameters<HttpOut["ask"]>): Promise<Answered> {
  const { connections, addressesOf } = client;
  const { timeout_ms, answer_bytes_max, method = "POST", stopping } = terms;
  const late = AbortSignal.timeout(timeout_ms);
  const signal = stopping === undefined ? late : AbortSignal.any([late, stopping]);
  try {
    const target = connections.targetOf(url);
    const name = nameIn(target);
    const addresses = name === null ? noAddresses : await within(signal, addressesOf(name));
    signal.throwIfAborted();
    const pool = connections.poolFor(target, addresses, limits.context_source_timeout_ms_max);
    const request = { method, path: target.path, headers, body: method === "GET" ? null : body, signal };
    // undici notices an abort only once it has a connection.
    return await within(
      signal,
      pool.request(request).then((head) => wholeAnswer(head, answer_bytes_max)),
    );
  } catch (error) {
    const refused = error instanceof AttemptFailure && error.failure === "refused";
    const failed = refused ? "refused" : late.aborted ? "timeout" : "unreachable";
    return { failed, text: failureText(error, timeout_ms) };
  }
}

function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Reads up to `bytes_max`. Closes the connection of a longer answer. */
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
  const header = (name: string) => (headers[name] === undefined ? null : String(headers[name]));
  const [cache_control, content_type] = [header("cache-control"), header("content-type")];
  return { status, body: Buffer.concat(chunks), cache_control, content_type };
}
