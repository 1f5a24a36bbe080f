/**
 * Pauses a source after several failures in a row. After the pause one request is sent: success ends the pause, failure
 * begins another.
 */
import { limits } from "@countersign/contract";
import { us_per_second } from "@countersign/core";
import type { LimitFunction } from "p-limit";
import type { Answered } from "../../ports.ts";

const pause_us = limits.context_source_pause_seconds * us_per_second;

export class SourceStanding {
  readonly revision: string;
  readonly open: LimitFunction;
  #failures = 0;
  /** 0: not paused. */
  #paused_until_us = 0;
  #trying = false;

  constructor(revision: string, open: LimitFunction) {
    this.revision = revision;
    this.open = open;
  }

  /** Returns true if the source may be asked. Call `asked` after the request, whatever its outcome. */
  mayAsk(now_us: number): boolean {
    if (this.#paused_until_us === 0) return true;
    const paused_us = this.#paused_until_us - now_us;
    // A remaining pause longer than `pause_us` means that the clock went backwards.
    if (this.#trying || (paused_us > 0 && paused_us <= pause_us)) return false;
    this.#trying = true;
    return true;
  }

  asked(): void {
    this.#trying = false;
  }

  /**
   * Records an outcome. Returns the reason if it begins a pause, else null. Only timeouts and signs of an outage count.
   */
  note(answer: Answered, now_us: number): string | null {
    const down = "failed" in answer ? answer.failed !== "too_large" : answer.status >= 500 || answer.status === 429;
    if (!down) {
      this.#failures = 0;
      this.#paused_until_us = 0;
      return null;
    }
    this.#failures += 1;
    if (this.#failures < limits.context_source_failures_max) return null;
    const began = this.#paused_until_us === 0;
    this.#paused_until_us = now_us + pause_us;
    if (!began) return null;
    return "failed" in answer ? answer.text : `status ${answer.status}`;
  }
}
