/**
 * The circuit breaker in front of Redis.
 *
 *   shared     every request asks Redis. Three failures in a row, or a lost connection, lead to `degraded`.
 *   degraded   the node counts alone. One request a second tries Redis, but none while an earlier one has no answer.
 *   The first answer in time leads back to `shared`.
 *
 * A degraded connection that does not answer for 10 s is replaced, because its other end may be gone. The state changes
 * only with requests and their answers: no timer runs.
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

/** The settings and callbacks of a breaker. */
export interface RedisBreakerOptions {
  readonly log: Log;
  /** Called at the start and at every change. */
  readonly onDegraded: (degraded: boolean) => void;
  /** Longest wait for one answer. */
  readonly answer_ms_max: number;
}

/** Decides for each request whether to ask Redis, and bounds the wait for the answer. */
export class RedisBreaker {
  readonly #connection: RedisConnection;
  readonly #options: RedisBreakerOptions;
  #failures = 0;
  #degraded = false;
  /** No request tries Redis before this time (the callers' clock). */
  #probe_ms = 0;
  /** Commands without an answer. */
  #unanswered = 0;
  /** When Redis stopped answering (the callers' clock). */
  #silent_from_ms = Number.POSITIVE_INFINITY;
  /** The timeout that all requests of the current slot share. */
  #deadline: Promise<never> | undefined;

  constructor(connection: RedisConnection, options: RedisBreakerOptions) {
    this.#connection = connection;
    this.#options = options;
    options.onDegraded(false);
  }

  /** Returns true if this request may ask Redis. */
  mayAsk(now_ms: number): boolean {
    const { redis } = this.#connection;
    const ready = redis.status === "ready";
    if (!ready) this.#degrade({ reason: this.#connection.reason() });
    if (!this.#degraded) return true;
    // In status "connect" the client waits for the answer to its first command on the connection.
    if (redis.status === "connect" || this.#unanswered > 0) this.#replaceSilent(now_ms);
    if (!ready || this.#unanswered > 0 || now_ms < this.#probe_ms) return false;
    this.#probe_ms = now_ms + probe_every_ms;
    return true;
  }

  /** Resolves to the answer of a command. Rejects if it takes too long. */
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
   * Rejects after the longest wait, but first reads the answers that have already arrived. Timers run before sockets
   * are read. Without the extra turn, every answer would seem late after a pause of this process.
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
    // A rejected deadline without waiting requests must not end the process.
    deadline.catch(() => undefined);
    this.#deadline = deadline;
    return deadline;
  }
}
