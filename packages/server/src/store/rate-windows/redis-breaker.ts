/**
 * The circuit breaker in front of Redis.
 *
 * - shared: every request asks Redis. Three failures in a row, or a lost connection, lead to `degraded`.
 * - degraded: the node counts alone. One request a second tries Redis, unless one is unanswered. An answer in time
 *   leads back.
 *
 * A degraded connection without an answer for 10 s is replaced. No timer changes the state.
 */
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../ports.ts";
import type { RedisConnection } from "./redis-connection.ts";

/** Failures in a row that open the breaker. A single one may be a pause of this process. */
const failures_max = 3;
const probe_every_ms = 1_000;
const silent_ms_max = 10_000;
/** Requests within this time share one timer. */
const deadline_slot_ms = 10;

export interface RedisBreakerOptions {
  readonly log: Log;
  readonly onDegraded: (degraded: boolean) => void;
  readonly answer_ms_max: number;
}

export class RedisBreaker {
  readonly #connection: RedisConnection;
  readonly #options: RedisBreakerOptions;
  #failures = 0;
  #degraded = false;
  /** No request tries Redis before this time (callers' clock). */
  #probe_ms = 0;
  /** Commands without an answer. */
  #unanswered = 0;
  /** When Redis stopped answering (callers' clock). */
  #silent_from_ms = Number.POSITIVE_INFINITY;
  #deadline: Promise<never> | undefined;

  constructor(connection: RedisConnection, options: RedisBreakerOptions) {
    this.#connection = connection;
    this.#options = options;
    options.onDegraded(false);
  }

  mayAsk(now_ms: number): boolean {
    const { redis } = this.#connection;
    const ready = redis.status === "ready";
    if (!ready) this.#degrade({ reason: this.#connection.reason() });
    if (!this.#degraded) return true;
    // In status "connect" the client waits for its first answer.
    if (redis.status === "connect" || this.#unanswered > 0) this.#replaceSilent(now_ms);
    if (!ready || this.#unanswered > 0 || now_ms < this.#probe_ms) return false;
    this.#probe_ms = now_ms + probe_every_ms;
    return true;
  }

  answered<Reply>(command: Promise<Reply>): Promise<Reply> {
    this.#unanswered += 1;
    const settled = () => {
      this.#unanswered -= 1;
      this.#silent_from_ms = Number.POSITIVE_INFINITY;
    };
    command.then(settled, settled);
    return Promise.race([command, this.#late()]);
  }

  succeeded(): void {
    this.#failures = 0;
    if (!this.#degraded) return;
    this.#degraded = false;
    this.#options.log.warn({}, "rate limits are shared again: redis answers");
    this.#options.onDegraded(false);
  }

  failed(error: unknown): void {
    this.#failures += 1;
    if (this.#failures >= failures_max) this.#degrade({ err: error });
  }

  #degrade(why: object): void {
    if (this.#degraded) return;
    this.#degraded = true;
    this.#options.log.error(why, "rate limits are counted per node: redis does not answer");
    this.#options.onDegraded(true);
  }

  #replaceSilent(now_ms: number): void {
    this.#silent_from_ms = Math.min(this.#silent_from_ms, now_ms);
    if (now_ms - this.#silent_from_ms < silent_ms_max) return;
    this.#silent_from_ms = Number.POSITIVE_INFINITY;
    this.#connection.redis.disconnect(true);
  }

  /**
   * Rejects after the timeout, but first reads answers that have arrived. Timers run before sockets, so after a pause
   * of the process every answer would seem late.
   */
  #late(): Promise<never> {
    if (this.#deadline !== undefined) return this.#deadline;
    const deadline = pause(deadline_slot_ms, undefined, { ref: false })
      .then(() => {
        this.#deadline = undefined;
        return pause(this.#options.answer_ms_max, undefined, { ref: false });
      })
      .then(() => nextTurn())
      .then(() => {
        throw new Error("redis did not answer in time");
      });
    // A rejection that no request waits for must not end the process.
    deadline.catch(() => undefined);
    this.#deadline = deadline;
    return deadline;
  }
}
