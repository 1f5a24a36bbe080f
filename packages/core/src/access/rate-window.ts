/**
 * The exact sliding log: a request at time t counts during [t, t + 60 s). Not an approximation: two fixed windows let up
 * to twice the limit through in 60 s (measured with a limit of 120: 191 at random, 239 when aimed at).
 *
 * Time is whole milliseconds, so the log holds one entry per millisecond with the number of requests in it: at most
 * 60,000 entries however high the limit is (6,000,000 a minute costs under 1 MB), and 1 entry for the first request.
 *
 *      head                    tail
 *   ┌───┬───┬───┬───┬───┬───┬───┬───┐   a ring whose length is a power of two and doubles when full;
 *   │   │ 3 │ 1 │ 0 │ 7 │   │   │   │   an entry refunded to 0 stays until the head passes it
 *   └───┴───┴───┴───┴───┴───┴───┴───┘
 *
 * Source: contract §8 rules 1, 6, 7, 8.
 */
import { limits } from "@countersign/contract";

const window_ms = limits.rate_window_seconds * 1000;

/** What a request learns about its budget. */
export interface RateTake {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left in the window after this one. */
  readonly remaining: number;
  /** Unix second at which the oldest counted request leaves the window (nothing counted: one window from now). */
  readonly reset_unix: number;
  /** Seconds until that same instant, at least 1. A refused caller that waits so long is allowed. */
  readonly retry_after: number;
  /** The millisecond under which the request was counted; what `refund` needs. */
  readonly at_ms: number;
}

/** What a log says when it is asked: how many requests count, and when the one was made whose leaving frees capacity. */
export interface RateCount {
  readonly allowed: boolean;
  readonly limit: number;
  readonly counted: number;
  readonly freeing_ms: number;
  readonly at_ms: number;
  readonly now_ms: number;
}

/** The answer that follows from a count, for logs kept here and elsewhere alike. */
export function rateTake({ allowed, limit, counted, freeing_ms, at_ms, now_ms }: RateCount): RateTake {
  const frees_ms = freeing_ms + window_ms;
  return {
    allowed,
    limit,
    remaining: Math.max(0, limit - counted),
    reset_unix: Math.ceil(frees_ms / 1000),
    retry_after: Math.max(1, Math.ceil((frees_ms - now_ms) / 1000)),
    at_ms,
  };
}

/** The requests of one caller in one category. Grows with use, never shrinks: drop it when `idle`. */
export class RateWindow {
  #times: number[] = [0];
  #counts: number[] = [0];
  #head = 0;
  #entries = 0;
  #counted = 0;
  #newest_ms = 0;

  /** Counts a request at `now_ms` unless `limit` requests already count; a refused request is not counted. */
  take(limit: number, now_ms: number): RateTake {
    const at_ms = this.#advance(now_ms);
    const allowed = this.#counted < limit;
    if (allowed) this.#push(at_ms);
    return this.#answer(allowed, limit, at_ms);
  }

  /** What `take` would say, the request itself left out of the count. */
  look(limit: number, now_ms: number): RateTake {
    const at_ms = this.#advance(now_ms);
    return this.#answer(this.#counted < limit, limit, at_ms);
  }

  /** Takes back one request counted at `at_ms`, and says what the budget is then. Nothing happens if it has aged out. */
  refund(limit: number, at_ms: number, now_ms: number): RateTake {
    const current_ms = this.#advance(now_ms);
    // Newest first: most refunds follow their request by milliseconds.
    for (let entry = this.#entries - 1; entry >= 0; entry--) {
      const slot = this.#slot(entry);
      const time = this.#times[slot] as number;
      if (time < at_ms) break;
      if (time > at_ms || this.#counts[slot] === 0) continue;
      (this.#counts[slot] as number)--;
      this.#counted--;
      break;
    }
    this.#dropUntil(current_ms - window_ms);
    return this.#answer(true, limit, at_ms, current_ms);
  }

  /** True when nothing counts any more at `now_ms`: the window may be forgotten. */
  idle(now_ms: number): boolean {
    return this.#counted === 0 || this.#newest_ms + window_ms <= now_ms;
  }

  #slot(entry: number): number {
    return (this.#head + entry) & (this.#times.length - 1);
  }

  /**
   * Drops what has aged out. Time does not run backwards here: an earlier `now_ms` counts as the newest one seen. One that is
   * earlier by more than a window is of a clock that was far ahead: nothing would age out until it had caught up, so the log
   * begins anew.
   */
  #advance(now_ms: number): number {
    if (now_ms < this.#newest_ms - window_ms) {
      this.#dropUntil(this.#newest_ms);
      this.#newest_ms = now_ms;
    }
    if (now_ms > this.#newest_ms) this.#newest_ms = now_ms;
    this.#dropUntil(this.#newest_ms - window_ms);
    return this.#newest_ms;
  }

  /** Drops entries up to and including `last_ms`, and emptied ones before the first that counts. */
  #dropUntil(last_ms: number): void {
    while (this.#entries > 0) {
      const count = this.#counts[this.#head] as number;
      if ((this.#times[this.#head] as number) > last_ms && count > 0) return;
      this.#counted -= count;
      this.#head = this.#slot(1);
      this.#entries--;
    }
  }

  #push(at_ms: number): void {
    this.#counted++;
    const last = this.#slot(this.#entries - 1);
    if (this.#entries > 0 && this.#times[last] === at_ms) {
      (this.#counts[last] as number)++;
      return;
    }
    if (this.#entries === this.#times.length) this.#grow();
    const slot = this.#slot(this.#entries);
    this.#times[slot] = at_ms;
    this.#counts[slot] = 1;
    this.#entries++;
  }

  #grow(): void {
    const order = Array.from({ length: this.#entries }, (_, entry) => this.#slot(entry));
    const padding = new Array<number>(this.#entries).fill(0);
    this.#times = order.map((slot) => this.#times[slot] as number).concat(padding);
    this.#counts = order.map((slot) => this.#counts[slot] as number).concat(padding);
    this.#head = 0;
  }

  #answer(allowed: boolean, limit: number, at_ms: number, now_ms = at_ms): RateTake {
    return rateTake({
      allowed,
      limit,
      counted: this.#counted,
      freeing_ms: this.#freeing(limit, now_ms),
      at_ms,
      now_ms,
    });
  }

  /**
   * When the request was made whose leaving frees capacity: the oldest. Only where the limit was lowered below what is
   * already counted it is a later one; the caller would otherwise come back too early.
   */
  #freeing(limit: number, now_ms: number): number {
    let needed = this.#counted - limit + 1;
    for (let entry = 0; entry < this.#entries; entry++) {
      const slot = this.#slot(entry);
      needed -= this.#counts[slot] as number;
      if (needed <= 0) return this.#times[slot] as number;
    }
    return now_ms;
  }
}
