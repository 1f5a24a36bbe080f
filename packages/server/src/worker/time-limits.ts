/**
 * The loop that ends reviews whose time is over. It looks twice a second, in every node: what is due stands in the
 * database, so a restart, a lost wake-up or a late timer costs less than a second and never changes who wins.
 */

import { timeOutEscalations } from "../operations/escalations/time-out-escalations.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 500;

/** Starts the loop. */
export function startTimeLimits(
  runtime: Pick<Runtime, "db" | "ids" | "timers" | "log" | "orgStates" | "deliveries">,
): Loop {
  return startPasses(runtime, look_every_ms, "looking for time limits failed", async (stopped) => {
    // Those that could not be closed must not hide the others for good.
    const passed_over: string[] = [];
    while (!stopped() && (await timeOutEscalations(runtime, passed_over)));
  });
}
