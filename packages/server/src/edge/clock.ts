/** Measures the wall clock in integer microseconds. */
import { performance } from "node:perf_hooks";
import type { Clock } from "../ports.ts";

/** The two hardware clocks, in milliseconds with fractions. Tests pass their own. */
export interface TimeSources {
  /** Milliseconds since the Unix epoch. May jump, forwards and backwards; whole milliseconds on most systems. */
  wall_ms(): number;
  /** Milliseconds since some start, with microseconds. Never goes back, but stops while a laptop sleeps. */
  elapsed_ms(): number;
}

const machine: TimeSources = { wall_ms: () => Date.now(), elapsed_ms: () => performance.now() };

/** The clock follows a wall clock that was set back by more than this; a smaller step back is ignored. */
export const behind_ms_max = 60_000;

/**
 * Creates a clock that ticks in microseconds between the wall clock's milliseconds. If the wall clock jumps ahead, the
 * clock jumps with it. If the wall clock is set back by up to a minute, the clock continues from its last time. It
 * never stops, because deadlines and rate windows are measured by it.
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
