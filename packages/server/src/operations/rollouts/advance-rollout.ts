import type { Rollout, RolloutAdvance } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Caller } from "../shared/caller.ts";
import { beginsRun, beginsStage, changeRollout, demandRollout, type RolloutDeps } from "./change-rollout.ts";
import { nextStage, shareOf } from "./shown-rollout.ts";

/**
 * Takes a rollout to its next stage; after the last one it arrives. If the guard had returned holds, they are enforced
 * again, and the stage stays. Faults: not_found, state_conflict (in shadow, arrived
 * already, or stopped and no reason given).
 */
export async function advanceRollout(
  runtime: RolloutDeps,
  caller: Caller,
  membrane_id: string,
  { reason }: RolloutAdvance,
): Promise<Rollout> {
  const advanced = await changeRollout(runtime, caller, membrane_id, (found) => {
    const before = demandRollout(found);
    if (found.membrane.status !== "live") throw refusal("The membrane is in shadow. Going live begins the rollout.");
    if (before.status === "arrived") throw refusal("The rollout has arrived already.");
    if (before.status === "stopped" && reason === undefined)
      throw refusal("The rollout was stopped. Say in `reason` why it goes on nevertheless.");
    const begins = before.status === "stopped" ? beginsRun : beginsStage;
    const next = before.holds_stage === null ? nextStage(before) : ({ status: "running" } as const);
    const row = { ...before, ...next, ...begins, holds_stage: null, breaches: [] };
    const data = { stage: row.stage, share: shareOf(row), arrived: row.status === "arrived" };
    const why = reason === undefined ? {} : { reason };
    return { row, type: "rollout_advanced", data: { ...data, ...why } };
  });
  return advanced as Rollout;
}

function refusal(message: string) {
  return faultAt("state_conflict", "", "status", message);
}
