import { type RateTake, RateWindow } from "@countersign/core";
import type { RateWindows } from "../../ports.ts";

/** Maximum number of windows. A nearly empty one takes 285 bytes, so all take about 85 MB. */
const windows_max = 300_000;
/** Windows dropped at once, because the search for the oldest passes over deleted entries (up to 0.1 ms). */
const forgotten_at_once = 1_000;

/** The windows of one node. Forgets idle windows without a timer: every new bucket checks two old ones. */
export class NodeRateWindows implements RateWindows {
  readonly #windows = new Map<string, RateWindow>();
  #sweep = this.#windows.entries();

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

  /** Uses a new iterator, because a kept one prevents the map from freeing deleted entries. */
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
