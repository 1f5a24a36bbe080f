/**
 * Exact sliding log: a request at time t counts during [t, t + 60 s). Two fixed windows would allow up to twice the
 * limit.
 *
 * The log has one entry per millisecond with requests: at most 60,000, below 1 MB. The ring's length is a power of two
 * and doubles when full. An entry refunded to 0 stays until the head passes it.
 *
 * Source: spec §8 rules 1, 6, 7, 8.
 */
import { limits } from "@countersign/contract";

const window_ms = limits.rate_window_seconds * 1000;

export interface RateTake {
  readonly allowed: boolean;
  readonly limit: number;
  /** Requests left after this one. */
  readonly remaining: number;
  /** Unix second when the oldest counted request leaves the window. If none counts, one window from now. */
  readonly reset_unix: number;
  /** Seconds until `reset_unix`, at least 1. A caller that waits this long is allowed. */
  readonly retry_after: number;
  /** Input of `refund`. */
  readonly at_ms: number;
}

/** `freeing_ms`: time of the request whose expiry frees capacity. */
export interface RateCount {
  readonly allowed: boolean;
  readonly limit: number;
  readonly counted: number;
  readonly freeing_ms: number;
  readonly at_ms: number;
  readonly now_ms: number;
}

/** Also used for logs kept elsewhere. */
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

/** The requests of one caller in one category. Never shrinks, so drop it when `idle`. */
export class RateWindow {
  #times: number[] = [0];
  #counts: number[] = [0];
  #head = 0;
  #entries = 0;
  #counted = 0;
  #newest_ms = 0;

  /** Counts only allowed requests. */
  take(limit: number, now_ms: number): RateTake {
    const at_ms = this.#advance(now_ms);
    const allowed = this.#counted < limit;
    if (allowed) this.#push(at_ms);
    return this.#answer(allowed, limit, at_ms);
  }

  look(limit: number, now_ms: number): RateTake {
    const at_ms = this.#advance(now_ms);
    return this.#answer(this.#counted < limit, limit, at_ms);
  }

  /** Does nothing if the request has expired. */
  refund(limit: number, at_ms: number, now_ms: number): RateTake {
    const current_ms = this.#advance(now_ms);
    // Most refunds follow their request by milliseconds.
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

  idle(now_ms: number): boolean {
    return this.#counted === 0 || this.#newest_ms + window_ms <= now_ms;
  }

  #slot(entry: number): number {
    return (this.#head + entry) & (this.#times.length - 1);
  }

  /**
   * Drops expired entries. An earlier `now_ms` counts as the newest seen. If it is earlier by more than a window, a
   * clock was far ahead, and the log restarts.
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

  /** Also drops empty entries at the head. */
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
   * Returns the time of the request whose expiry frees capacity: the oldest, or a later one after the limit was
   * lowered.
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
