import type { Timers } from "../ports.ts";

/** Node's longest timer. Beyond it `setTimeout` fires at once. */
const timeout_ms_max = 2 ** 31 - 1;

/** Longer waits end early, which is harmless because a wake-up is only a hint. */
export const timers: Timers = {
  after(wait_ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(wait_ms, 0), timeout_ms_max));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
