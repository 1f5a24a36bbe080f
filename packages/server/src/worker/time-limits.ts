/** Every node looks twice a second. Due reviews are rows, so a restart or a late timer never changes the outcome. */

import { timeOutEscalations } from "../operations/escalations/time-out-escalations.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 500;

export function startTimeLimits(
  runtime: Pick<Runtime, "db" | "ids" | "timers" | "log" | "orgStates" | "deliveries">,
): Loop {
  return startPasses(runtime, look_every_ms, "looking for time limits failed", async (stopped) => {
    // Reviews that cannot be closed must not hide the others.
    const passed_over: string[] = [];
    while (!stopped() && (await timeOutEscalations(runtime, passed_over)));
  });
}
