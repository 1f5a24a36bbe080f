/** The rate windows of a single node. */

import { type RateTake, RateWindow } from "@countersign/core";
import type { RateWindows } from "../../ports.ts";

/**
 * A nearly empty window takes 285 bytes (measured). So a flood from many addresses takes 85 MB at most, then the oldest
 * windows are dropped.
 */
const windows_max = 300_000;
/**
 * This many windows are dropped at once. The search for the oldest passes over all entries deleted since the map was
 * last rebuilt, which takes up to 0.1 ms.
 */
const forgotten_at_once = 1_000;

/**
 * The windows of this node alone. Forgets idle windows without a timer: every new bucket checks two old ones in turn.
 * So the number of windows follows the number of callers in the last minute.
 */
export class NodeRateWindows implements RateWindows {
  readonly #windows = new Map<string, RateWindow>();
  #sweep = this.#windows.entries();

  /** The number of buckets. */
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

  /**
   * Uses a new iterator each time, because an iterator that is kept prevents the map from freeing deleted entries (350
   * bytes a bucket).
   */
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
