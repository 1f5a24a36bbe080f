/**
 * The loop that ends reviews whose time is over. It looks twice a second, in every node: what is due stands in the
 * database, so a restart, a lost wake-up or a late timer costs less than a second and never changes who wins.
 */
import type { Runtime } from "../operations/runtime.ts";
import { timeOutEscalations } from "../operations/time-out-escalations.ts";

const look_every_ms = 500;

/** Starts the loop. A failing look is logged and made again. `stop` ends after the look under way. */
export function startTimeLimits(runtime: Runtime): { stop(): Promise<void> } {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = schedule();

  function schedule(): () => void {
    return runtime.timers.after(look_every_ms, () => {
      running = look()
        .catch((error: unknown) => runtime.log.error({ err: error }, "looking for time limits failed"))
        .finally(() => {
          if (!stopped) cancel = schedule();
        });
    });
  }

  async function look(): Promise<void> {
    // Past those that could not be closed too: 200 of them must not hide the others for good.
    let last = await timeOutEscalations(runtime, null);
    while (!stopped && last !== null) last = await timeOutEscalations(runtime, last);
  }

  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
