/**
 * How one organization's source fares, under one registration.
 *
 *   well      every question is asked
 *   paused    after several failures in a row no question is asked for some seconds
 *   trying    the pause is over and one question is asked; its success leads to `well`, its failure to `paused`
 */
import { limits } from "@countersign/contract";
import { us_per_second } from "@countersign/core";
import type { LimitFunction } from "p-limit";
import type { Answered } from "../../ports.ts";

const pause_us = limits.context_source_pause_seconds * us_per_second;

/** The standing of one source. */
export class SourceStanding {
  /** The registration that this standing is about. */
  readonly revision: string;
  /** Limits the questions that are open at once. */
  readonly open: LimitFunction;
  #failures = 0;
  /** 0: the source is well. */
  #paused_until_us = 0;
  #trying = false;

  constructor(revision: string, open: LimitFunction) {
    this.revision = revision;
    this.open = open;
  }

  /** Whether the source may be asked now. Call `asked` after the question, whatever came of it. */
  mayAsk(now_us: number): boolean {
    if (this.#paused_until_us === 0) return true;
    const paused_us = this.#paused_until_us - now_us;
    // A rest longer than a pause means that the clock went backwards.
    if (this.#trying || (paused_us > 0 && paused_us <= pause_us)) return false;
    this.#trying = true;
    return true;
  }

  asked(): void {
    this.#trying = false;
  }

  /**
   * Takes the outcome of a question. Returns why the source is paused if this outcome began the pause, otherwise null. Only
   * outcomes that cost time or say that the source is down count: a bad answer to one question does not.
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
