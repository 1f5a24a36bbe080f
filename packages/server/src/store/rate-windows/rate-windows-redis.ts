/**
 * Rate windows shared by all nodes through Redis or Valkey: the same exact log as on one node, kept in two keys a bucket.
 *
 *   <prefix>{bucket}:times    list of the milliseconds in which requests were counted, oldest first
 *   <prefix>{bucket}:counts   hash of millisecond -> requests counted in it, and `n` -> their sum
 *
 * One script call a request: it runs alone, so the count is exact at any concurrency. The time is Redis' own (`TIME`):
 * every node's clock is off by some milliseconds, and a node that is ahead would drop requests that still count.
 *
 * Redis is never waited for longer than 50 ms and never makes a request fail. While it is away every node counts in its
 * own windows, which are kept along with the shared ones so that an outage is no fresh budget; one request a second
 * tries Redis again, and the first success ends it; none while what it was asked before has no answer yet. After 10 s without
 * any answer the connection is given up for another one: its other end may be gone. A Redis that stood still does all that it
 * was asked when it wakes, and counts as of then; what it comes to two seconds late it leaves out, or callers would be refused
 * for longer than they were told. What was counted meanwhile never reaches Redis, so a node's own windows have their say after
 * that too: they are kept in Redis' time, and hold nothing else that Redis does not hold.
 * A bucket that Redis found full stays full for as long as its caller was told, whether Redis answers meanwhile or not.
 */

import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { limits } from "@countersign/contract";
import { type RateTake, rateTake } from "@countersign/core";
import { Redis } from "ioredis";
import { LRUCache } from "lru-cache";
import type { Log, RateWindows } from "../../ports.ts";
import { NodeRateWindows } from "./rate-windows.ts";
import { lookScript, refundScript, takeScript } from "./rate-windows-redis-scripts.ts";

/** Shared windows; `close` ends the connection. */
export interface RedisRateWindows extends RateWindows {
  close(): void;
}

/** Where Redis is and who hears of it. */
export interface RedisRateWindowsOptions {
  readonly url: string;
  /** In front of every key; default `countersign:rate:`. */
  readonly prefix?: string;
  readonly log: Log;
  /** Told at the start and at every change whether this node counts alone. */
  readonly onDegraded: (degraded: boolean) => void;
  /** Told of every request that was decided on without Redis. */
  readonly onAlone: () => void;
  /** Use the caller's time instead of Redis' TIME; for tests with a clock of their own. */
  readonly callers_time?: boolean;
  /** Longest wait for one answer; default 50. */
  readonly answer_ms_max?: number;
}

/** Wait for one answer at most; on one machine the script takes 0.06 ms (p50; p99 4 ms while the machine was overloaded). */
const answer_ms_max_default = 50;
/** From a request to its count: its key may have to be looked up in a slow database, and clocks drift until they are heard. */
const counted_within_ms = 2_000;
/** Requests of this much time share one timer. */
const deadline_slot_ms = 10;
/** Failures in a row that open the breaker: one alone may be a pause of our own process. */
const failuresMax = 3;
const probe_every_ms = 1_000;
const silent_ms_max = 10_000;
/** Remembered as full; one that is forgotten is counted in this node's own windows. */
const full_buckets_max = 10_000;

type Reply = [allowed: number, counted: number, freeing_ms: number, at_ms: number, now_ms: number];
type Scripts = Redis & {
  rateTake(times: string, counts: string, limit: number, now: string, until: string): Promise<Reply>;
  rateLook(times: string, counts: string, limit: number, now: string): Promise<Reply>;
  rateRefund(times: string, counts: string, limit: number, now: string, at: string): Promise<Reply>;
};

/** Opens the shared windows. Does not wait for the connection: until it stands, this node counts alone. */
export function openRedisRateWindows(options: RedisRateWindowsOptions): RedisRateWindows {
  const { log, onDegraded, onAlone, prefix = "countersign:rate:" } = options;
  const redis = new Redis(options.url, {
    enableOfflineQueue: false,
    connectTimeout: 1_000,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 50, 1_000),
    // Made a replica by a failover, which ends no connections: the address leads to the new primary by now.
    reconnectOnError: ({ message }) => message.includes("READONLY"),
  }) as Scripts;
  redis.defineCommand("rateTake", { numberOfKeys: 2, lua: takeScript });
  redis.defineCommand("rateLook", { numberOfKeys: 2, lua: lookScript });
  redis.defineCommand("rateRefund", { numberOfKeys: 2, lua: refundScript });
  /** Why there is no connection, as far as it is known: a wrong password, a certificate, an address. */
  let reason = "not connected";
  redis.on("error", ({ message, command }: Error & { readonly command?: { readonly name: string } }) => {
    // The words only: the error also holds the command that failed, which may be the one with the password.
    if (command?.name === "select") {
      // NOAUTH only follows from a wrong password, of which was told. Whatever else: the client goes on in the first database.
      if (!message.startsWith("NOAUTH"))
        log.error({ reason: message }, "rate limits are counted in redis' database 0: it refuses the one of REDIS_URL");
      return;
    }
    reason = `not connected: ${message}`;
    log.debug({ reason }, "redis connection failed");
  });

  let own = new NodeRateWindows();
  /** What was counted for an answer, here and in Redis; absent: here only. */
  const counted = new WeakMap<RateTake, { readonly here: RateTake; readonly shared: RateTake }>();
  /** From the callers' time to Redis', as last seen; and the latest of Redis' time that this node's own windows may hold. */
  let ahead_ms: number | undefined;
  let newest_ms = 0;
  /** Redis' latest refusals. */
  const full = new LRUCache<string, RateTake>({ max: full_buckets_max });
  let failures = 0;
  let degraded = false;
  let probe_ms = 0;
  /** Questions that Redis has not answered, and since when none of them was, by the callers' time. */
  let unanswered = 0;
  let silent_from_ms = Number.POSITIVE_INFINITY;
  onDegraded(false);

  function usable(now_ms: number): boolean {
    const ready = redis.status === "ready";
    if (!ready) degrade({ reason });
    if (!degraded) return true;
    // Between the two: connected, and asked what every connection is asked first.
    if (redis.status === "connect" || unanswered > 0) giveUpSilent(now_ms);
    if (!ready || unanswered > 0 || now_ms < probe_ms) return false;
    probe_ms = now_ms + probe_every_ms;
    return true;
  }

  function giveUpSilent(now_ms: number): void {
    silent_from_ms = Math.min(silent_from_ms, now_ms);
    if (now_ms - silent_from_ms < silent_ms_max) return;
    silent_from_ms = Number.POSITIVE_INFINITY;
    redis.disconnect(true);
  }

  /** The answer, or a rejection when it takes too long. */
  function answered(command: Promise<Reply>): Promise<Reply> {
    unanswered += 1;
    const settled = () => {
      unanswered -= 1;
      silent_from_ms = Number.POSITIVE_INFINITY;
    };
    command.then(settled, settled);
    return Promise.race([command, deadline()]);
  }

  function degrade(why: object): void {
    if (degraded) return;
    degraded = true;
    log.error(why, "rate limits are counted per node: redis does not answer");
    onDegraded(true);
  }

  function succeeded(): void {
    failures = 0;
    if (!degraded) return;
    degraded = false;
    log.warn({}, "rate limits are shared again: redis answers");
    onDegraded(false);
  }

  function failed(error: unknown): void {
    failures += 1;
    if (failures >= failuresMax) degrade({ err: error });
  }

  let slot: Promise<never> | undefined;
  /**
   * Rejects after the longest wait, and only when what had arrived by then has been read: timers run before sockets are
   * looked at, so after a pause of this process itself every answer would seem late.
   */
  function deadline(): Promise<never> {
    if (slot !== undefined) return slot;
    const opened = pause(deadline_slot_ms, undefined, { ref: false })
      .then(() => {
        slot = undefined;
        return pause(options.answer_ms_max ?? answer_ms_max_default, undefined, { ref: false });
      })
      .then(() => nextTurn())
      .then(() => {
        throw new Error("redis did not answer in time");
      });
    opened.catch(() => undefined);
    slot = opened;
    return opened;
  }

  /**
   * Redis' time. Where its clock was set back, or is behind the one that this node counted by until it knew, nothing that was
   * counted by the former would age out here for as long.
   */
  function heard(at_ms: number, now_ms: number): void {
    ahead_ms = at_ms - now_ms;
    if (at_ms < newest_ms - limits.rate_window_seconds * 1_000) {
      own = new NodeRateWindows();
      full.clear();
      newest_ms = at_ms;
    } else newest_ms = Math.max(newest_ms, at_ms);
  }

  const timesKey = (bucket: string) => `${prefix}{${bucket}}:times`;
  const countsKey = (bucket: string) => `${prefix}{${bucket}}:counts`;
  const time = (now_ms: number) => (options.callers_time === true ? String(Math.floor(now_ms)) : "");
  /** What this node says by itself. */
  function alone(kind: "take" | "look", bucket: string, limit: number, now_ms: number): RateTake {
    if (kind === "take") onAlone();
    const shared_ms = now_ms + (ahead_ms ?? 0);
    newest_ms = Math.max(newest_ms, shared_ms);
    const refused = full.get(bucket);
    if (refused?.limit === limit) {
      const wait_ms = refused.at_ms + refused.retry_after * 1_000 - shared_ms;
      if (wait_ms > 0) return { ...refused, retry_after: Math.ceil(wait_ms / 1_000) };
    }
    return own[kind](bucket, limit, shared_ms);
  }
  const giveBack = (bucket: string, { limit, at_ms }: RateTake, now_ms: number) =>
    redis.rateRefund(timesKey(bucket), countsKey(bucket), limit, time(now_ms), String(at_ms));

  return {
    async take(bucket, limit, now_ms) {
      if (!usable(now_ms)) return alone("take", bucket, limit, now_ms);
      try {
        const ask = (until: string) =>
          answered(redis.rateTake(timesKey(bucket), countsKey(bucket), limit, time(now_ms), until));
        const reply = await ask(ahead_ms === undefined ? "" : String(Math.ceil(now_ms + ahead_ms + counted_within_ms)));
        // Late, and answered in time: one of the clocks was set.
        const shared = read(limit, reply[0] < 0 ? await ask("") : reply);
        succeeded();
        heard(shared.at_ms, now_ms);
        if (!shared.allowed) {
          full.set(bucket, shared);
          return shared;
        }
        const here = own.take(bucket, limit, shared.at_ms);
        if (!here.allowed) {
          giveBack(bucket, shared, now_ms).catch(failed);
          return here;
        }
        const answer = stricter(shared, here);
        counted.set(answer, { here, shared });
        return answer;
      } catch (error) {
        failed(error);
        return alone("take", bucket, limit, now_ms);
      }
    },

    async look(bucket, limit, now_ms) {
      if (!usable(now_ms)) return alone("look", bucket, limit, now_ms);
      try {
        const command = redis.rateLook(timesKey(bucket), countsKey(bucket), limit, time(now_ms));
        const shared = read(limit, await answered(command));
        succeeded();
        heard(shared.at_ms, now_ms);
        return stricter(shared, own.look(bucket, limit, shared.at_ms));
      } catch (error) {
        failed(error);
        return alone("look", bucket, limit, now_ms);
      }
    },

    async refund(bucket, taken, now_ms) {
      full.delete(bucket);
      const both = counted.get(taken);
      const here = own.refund(bucket, both?.here ?? taken, now_ms + (ahead_ms ?? 0));
      if (both === undefined || !usable(now_ms)) return here;
      try {
        const reply = await answered(giveBack(bucket, both.shared, now_ms));
        return stricter(read(taken.limit, reply), here);
      } catch (error) {
        failed(error);
        return here;
      }
    },

    close: () => redis.disconnect(),
  };
}

/** Of two answers the one that leaves less; the first where they say the same. */
function stricter(one: RateTake, other: RateTake): RateTake {
  if (one.allowed !== other.allowed) return one.allowed ? other : one;
  return other.remaining < one.remaining ? other : one;
}

function read(limit: number, [allowed, counted, freeing_ms, at_ms, now_ms]: Reply): RateTake {
  return rateTake({ allowed: allowed === 1, limit, counted, freeing_ms, at_ms, now_ms });
}
