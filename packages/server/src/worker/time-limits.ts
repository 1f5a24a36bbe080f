/**
 * The loop that ends reviews at their time limit. Every node looks twice a second. Due reviews are rows in the
 * database. So a restart, a lost wake-up or a late timer costs less than a second and never changes the outcome.
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
    // Reviews that could not be closed must not hide the others permanently.
    const passed_over: string[] = [];
    while (!stopped() && (await timeOutEscalations(runtime, passed_over)));
  });
}
