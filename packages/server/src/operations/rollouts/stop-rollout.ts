import type { Rollout, RolloutReason } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Caller } from "../shared/caller.ts";
import { changeRollout, demandRollout, type RolloutDeps } from "./change-rollout.ts";

/** Stops the advance of a rollout. Its share stays enforced. Faults: not_found, state_conflict (it does not run). */
export async function stopRollout(
  runtime: RolloutDeps,
  caller: Caller,
  membrane_id: string,
  { reason }: RolloutReason,
): Promise<Rollout> {
  const stopped = await changeRollout(runtime, caller, membrane_id, (found) => {
    const before = demandRollout(found);
    if (before.status !== "running") throw faultAt("state_conflict", "", "status", "The rollout does not run.");
    return { row: { ...before, status: "stopped" }, type: "rollout_stopped", data: { stage: before.stage, reason } };
  });
  return stopped as Rollout;
}
