import { performance } from "node:perf_hooks";
import type { Clock } from "../ports.ts";

/** Milliseconds with fractions. */
export interface TimeSources {
  /** Since the Unix epoch. May jump forwards and backwards. */
  wall_ms(): number;
  /** Never goes back, but stops while a laptop sleeps. */
  elapsed_ms(): number;
}

const machine: TimeSources = { wall_ms: () => Date.now(), elapsed_ms: () => performance.now() };

/** The clock ignores smaller steps back of the wall clock. */
export const behind_ms_max = 60_000;

/**
 * Creates a clock with microseconds that never stops, because deadlines depend on it. Jumps ahead with the wall clock.
 * If the wall clock is set back by up to a minute, continues from the last time.
 */
export function createClock({ wall_ms, elapsed_ms }: TimeSources = machine): Clock {
  let start_ms = wall_ms() - elapsed_ms();
  return {
    now_us() {
      const passed_ms = elapsed_ms();
      const started_ms = wall_ms() - passed_ms;
      if (started_ms > start_ms || started_ms < start_ms - behind_ms_max) start_ms = started_ms;
      return Math.floor((start_ms + passed_ms) * 1000);
    },
  };
}
