/** The wall clock in integer microseconds, made steady: it never stops, and goes back only where it was far ahead. */
import { performance } from "node:perf_hooks";
import type { Clock } from "../ports.ts";

/** Where the two hardware clocks are read; tests put their own here. Both in milliseconds, fractions allowed. */
export interface TimeSources {
  /** Milliseconds since the Unix epoch. May jump, forwards and backwards; whole milliseconds on most systems. */
  wall_ms(): number;
  /** Milliseconds since some start, sub-microsecond. Never goes back, but drifts and stands still while a laptop sleeps. */
  elapsed_ms(): number;
}

const machine: TimeSources = { wall_ms: () => Date.now(), elapsed_ms: () => performance.now() };

/** How far the computed time may stray from the wall clock (which is cut to whole milliseconds) before it is re-anchored. */
const drift_ms_max = 2;

/** A wall clock that is further behind is followed back. Two minutes make up for so much, and no time limit of others is shorter. */
export const behind_ms_max = 60_000;

/**
 * A clock that ticks in microseconds between the wall clock's milliseconds and follows it within 2 ms.
 *
 * The wall clock ahead (NTP step, sleep): the clock jumps forward with it. The wall clock behind (set back): the clock runs
 * at half speed until the wall has caught up. Holding it still instead would freeze rate windows and leases for as long as
 * the step was; following it would let an id or a deadline sort before one that was given out earlier. Where the wall clock
 * was wrong by more than a minute it is followed back all the same: a node that had seen a wrong year for a moment called keys
 * expired, facts stale and codes wrong for twice as many years, or until it was started again.
 */
export function createClock(sources: TimeSources = machine): Clock {
  let anchor_wall_ms = sources.wall_ms();
  let anchor_elapsed_ms = sources.elapsed_ms();
  let rate = 1;
  let last_us = 0;
  let reached_us = 0;

  return {
    reached_us() {
      const furthest_us = Math.max(reached_us, last_us);
      reached_us = last_us;
      return furthest_us;
    },
    now_us() {
      const wall_ms = sources.wall_ms();
      const elapsed_ms = sources.elapsed_ms();
      let now_ms = anchor_wall_ms + (elapsed_ms - anchor_elapsed_ms) * rate;
      const behind_ms = wall_ms - now_ms;
      if (behind_ms > drift_ms_max) {
        [anchor_wall_ms, anchor_elapsed_ms, rate] = [wall_ms, elapsed_ms, 1];
        now_ms = wall_ms;
      } else if (behind_ms < -behind_ms_max) {
        [anchor_wall_ms, anchor_elapsed_ms, rate] = [wall_ms, elapsed_ms, 1];
        now_ms = wall_ms;
        reached_us = Math.max(reached_us, last_us);
        last_us = 0;
      } else if (behind_ms < -drift_ms_max && rate === 1) {
        [anchor_wall_ms, anchor_elapsed_ms, rate] = [now_ms, elapsed_ms, 0.5];
      } else if (behind_ms > -1 && rate !== 1) {
        [anchor_wall_ms, anchor_elapsed_ms, rate] = [now_ms, elapsed_ms, 1];
      }
      last_us = Math.max(last_us, Math.floor(now_ms * 1000));
      return last_us;
    },
  };
}
