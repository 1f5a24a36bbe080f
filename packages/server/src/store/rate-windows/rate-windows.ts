/** The rate windows of a single node. */

import { type RateTake, RateWindow } from "@countersign/core";
import type { RateWindows } from "../../ports.ts";

/** 285 bytes each while nearly empty (measured): a flood from many addresses takes 85 MB at most, then the oldest go. */
const windows_max = 300_000;
/** So many go at once: looking for the oldest passes over all that went since the map was last laid out, up to 0.1 ms. */
const forgotten_at_once = 1_000;

/**
 * The windows of this node alone. Forgets idle ones: every new bucket looks at two old ones in turn, so the number kept
 * follows the number of callers in the last minute without any timer.
 */
export class NodeRateWindows implements RateWindows {
  readonly #windows = new Map<string, RateWindow>();
  #sweep = this.#windows.entries();

  /** Buckets kept at present. */
  get size(): number {
    return this.#windows.size;
  }

  take(bucket: string, limit: number, now_ms: number): RateTake {
    return (this.#windows.get(bucket) ?? this.#open(bucket, now_ms)).take(limit, now_ms);
  }

  look(bucket: string, limit: number, now_ms: number): RateTake {
    return (this.#windows.get(bucket) ?? new RateWindow()).look(limit, now_ms);
  }

  refund(bucket: string, taken: RateTake, now_ms: number): RateTake {
    return (this.#windows.get(bucket) ?? new RateWindow()).refund(taken.limit, taken.at_ms, now_ms);
  }

  #open(bucket: string, now_ms: number): RateWindow {
    this.#forgetIdle(now_ms);
    this.#forgetIdle(now_ms);
    if (this.#windows.size >= windows_max) this.#forgetOldest();
    const window = new RateWindow();
    this.#windows.set(bucket, window);
    return window;
  }

  /** By an iterator of its own: one that is kept and not moved keeps what the map held since: 350 bytes a bucket. */
  #forgetOldest(): void {
    let left = forgotten_at_once;
    for (const bucket of this.#windows.keys()) {
      this.#windows.delete(bucket);
      left -= 1;
      if (left === 0) return;
    }
  }

  #forgetIdle(now_ms: number): void {
    const next = this.#sweep.next();
    if (next.done === true) this.#sweep = this.#windows.entries();
    else if (next.value[1].idle(now_ms)) this.#windows.delete(next.value[0]);
  }
}
