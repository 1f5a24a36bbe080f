/**
 * Rate windows that all nodes share through Redis or Valkey: the same exact log as on one node, in two keys for each
 * bucket.
 *
 * - `<prefix>{bucket}:times`: list of the milliseconds in which requests were counted, oldest first
 * - `<prefix>{bucket}:counts`: hash of millisecond to requests counted in it, and `n`, their sum
 *
 * Each request is one script call, so the count is exact. Scripts use Redis' time, because a node with a fast clock
 * would drop requests that still count.
 *
 * No request waits longer than 50 ms or fails because of Redis. While Redis is unavailable (`redis-breaker.ts`), each
 * node counts in its own windows. These are updated while Redis answers, too, so an outage gives callers no new budget,
 * and they also limit requests after an outage. They are kept in Redis' time. A bucket that Redis found full stays full
 * for the reported time.
 *
 * A stopped Redis runs pending commands when it wakes. A take two seconds late is not counted, because it would refuse
 * callers for longer than `Retry-After` said.
 */
import { limits } from "@countersign/contract";
import { type RateTake, rateTake } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { Log, RateWindows } from "../../ports.ts";
import { NodeRateWindows } from "./rate-windows.ts";
import { RedisBreaker } from "./redis-breaker.ts";
import { connectRedis, type RedisConnection, type Reply } from "./redis-connection.ts";

export interface RedisRateWindows extends RateWindows {
  close(): void;
}

export interface RedisRateWindowsOptions {
  readonly url: string;
  /** Prefix of every key; default `countersign:rate:`. */
  readonly prefix?: string;
  readonly log: Log;
  /** Called at the start and at changes. True: this node counts alone. */
  readonly onDegraded: (degraded: boolean) => void;
  /** Called for every request decided without Redis. */
  readonly onAlone: () => void;
  /** Uses the callers' time, for tests with their own clock. */
  readonly callers_time?: boolean;
  /** Default 50. */
  readonly answer_ms_max?: number;
}

/** Timeout for one answer. The script takes 0.06 ms (p50; p99 4 ms under overload). */
const answer_ms_max_default = 50;
/** Maximum time from a request to its count, for slow key lookups and clock drift. */
const counted_within_ms = 2_000;
/** Maximum number of full buckets that are remembered. */
const full_buckets_max = 10_000;

/** Opens the windows without waiting for the connection. Until then, this node counts alone. */
export function openRedisRateWindows(options: RedisRateWindowsOptions): RedisRateWindows {
  const connection = connectRedis(options.url, options.log);
  const { log, onDegraded, answer_ms_max = answer_ms_max_default } = options;
  return new SharedRateWindows(connection, new RedisBreaker(connection, { log, onDegraded, answer_ms_max }), options);
}

class SharedRateWindows implements RedisRateWindows {
  readonly #redis: RedisConnection["redis"];
  readonly #breaker: RedisBreaker;
  readonly #options: RedisRateWindowsOptions;
  #own = new NodeRateWindows();
  readonly #counted = new WeakMap<RateTake, { readonly here: RateTake; readonly shared: RateTake }>();
  /** Redis' time minus the callers' time at the last answer. */
  #ahead_ms: number | undefined;
  /** The latest Redis time in this node's own windows. */
  #newest_ms = 0;
  readonly #full = new LRUCache<string, RateTake>({ max: full_buckets_max });

  constructor({ redis }: RedisConnection, breaker: RedisBreaker, options: RedisRateWindowsOptions) {
    this.#redis = redis;
    this.#breaker = breaker;
    this.#options = options;
  }

  async take(bucket: string, limit: number, now_ms: number): Promise<RateTake> {
    if (!this.#breaker.mayAsk(now_ms)) return this.#alone("take", bucket, limit, now_ms);
    try {
      const shared = await this.#takeShared(bucket, limit, now_ms);
      this.#breaker.succeeded();
      this.#follow(shared.at_ms, now_ms);
      if (!shared.allowed) {
        this.#full.set(bucket, shared);
        return shared;
      }
      const here = this.#own.take(bucket, limit, shared.at_ms);
      if (!here.allowed) {
        this.#giveBack(bucket, shared, now_ms).catch((error) => this.#breaker.failed(error));
        return here;
      }
      const answer = stricter(shared, here);
      this.#counted.set(answer, { here, shared });
      return answer;
    } catch (error) {
      this.#breaker.failed(error);
      return this.#alone("take", bucket, limit, now_ms);
    }
  }

  async look(bucket: string, limit: number, now_ms: number): Promise<RateTake> {
    if (!this.#breaker.mayAsk(now_ms)) return this.#alone("look", bucket, limit, now_ms);
    try {
      const command = this.#redis.rateLook(...this.#keys(bucket), limit, this.#time(now_ms));
      const shared = read(limit, await this.#breaker.answered(command));
      this.#breaker.succeeded();
      this.#follow(shared.at_ms, now_ms);
      return stricter(shared, this.#own.look(bucket, limit, shared.at_ms));
    } catch (error) {
      this.#breaker.failed(error);
      return this.#alone("look", bucket, limit, now_ms);
    }
  }

  async refund(bucket: string, taken: RateTake, now_ms: number): Promise<RateTake> {
    this.#full.delete(bucket);
    const both = this.#counted.get(taken);
    const here = this.#own.refund(bucket, both?.here ?? taken, now_ms + (this.#ahead_ms ?? 0));
    if (both === undefined || !this.#breaker.mayAsk(now_ms)) return here;
    try {
      const reply = await this.#breaker.answered(this.#giveBack(bucket, both.shared, now_ms));
      return stricter(read(taken.limit, reply), here);
    } catch (error) {
      this.#breaker.failed(error);
      return here;
    }
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #takeShared(bucket: string, limit: number, now_ms: number): Promise<RateTake> {
    const ask = (until: string) =>
      this.#breaker.answered(this.#redis.rateTake(...this.#keys(bucket), limit, this.#time(now_ms), until));
    const until_ms = this.#ahead_ms === undefined ? null : Math.ceil(now_ms + this.#ahead_ms + counted_within_ms);
    const reply = await ask(until_ms === null ? "" : String(until_ms));
    // The answer came in time, so a clock was set. Ask without a deadline.
    return read(limit, reply[0] < 0 ? await ask("") : reply);
  }

  #giveBack(bucket: string, { limit, at_ms }: RateTake, now_ms: number): Promise<Reply> {
    return this.#redis.rateRefund(...this.#keys(bucket), limit, this.#time(now_ms), String(at_ms));
  }

  #alone(kind: "take" | "look", bucket: string, limit: number, now_ms: number): RateTake {
    if (kind === "take") this.#options.onAlone();
    const shared_ms = now_ms + (this.#ahead_ms ?? 0);
    this.#newest_ms = Math.max(this.#newest_ms, shared_ms);
    const refused = this.#full.get(bucket);
    if (refused?.limit === limit) {
      const wait_ms = refused.at_ms + refused.retry_after * 1_000 - shared_ms;
      if (wait_ms > 0) return { ...refused, retry_after: Math.ceil(wait_ms / 1_000) };
    }
    return this.#own[kind](bucket, limit, shared_ms);
  }

  /**
   * Adopts Redis' time. If it is more than a window behind, empties this node's windows, because their entries would
   * not expire.
   */
  #follow(at_ms: number, now_ms: number): void {
    this.#ahead_ms = at_ms - now_ms;
    if (at_ms >= this.#newest_ms - limits.rate_window_seconds * 1_000) {
      this.#newest_ms = Math.max(this.#newest_ms, at_ms);
      return;
    }
    this.#own = new NodeRateWindows();
    this.#full.clear();
    this.#newest_ms = at_ms;
  }

  #keys(bucket: string): [times: string, counts: string] {
    const { prefix = "countersign:rate:" } = this.#options;
    return [`${prefix}{${bucket}}:times`, `${prefix}{${bucket}}:counts`];
  }

  /** Returns the time for a script. Empty: Redis' own time. */
  #time(now_ms: number): string {
    return this.#options.callers_time === true ? String(Math.floor(now_ms)) : "";
  }
}

/** Returns the answer with the smaller remainder. */
function stricter(one: RateTake, other: RateTake): RateTake {
  if (one.allowed !== other.allowed) return one.allowed ? other : one;
  return other.remaining < one.remaining ? other : one;
}

function read(limit: number, [allowed, counted, freeing_ms, at_ms, now_ms]: Reply): RateTake {
  return rateTake({ allowed: allowed === 1, limit, counted, freeing_ms, at_ms, now_ms });
}
