import { recordState } from "../operations/audit/record-state.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

/** Nodes of an earlier version may still create organizations during an upgrade. */
const look_every_ms = 60_000;

export function startRecordingState(runtime: Pick<Runtime, "db" | "ids" | "timers" | "log">): Loop {
  return startPasses(runtime, look_every_ms, "writing what decides into the audit trail failed", async (stopped) => {
    while (!stopped() && (await recordState(runtime)));
  });
}
