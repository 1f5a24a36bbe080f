import type { Rollout, RolloutGuard, RolloutInput, RolloutStage } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import { requestMove } from "../../store/membranes/membranes.ts";
import type { RolloutRow } from "../../store/rollouts/rollouts.ts";
import type { Caller } from "../shared/caller.ts";
import { beginsRun, changeRollout, demandRollout, type Found, type RolloutDeps } from "./change-rollout.ts";

const defaultStages: readonly RolloutStage[] = [
  { share: 0.05, decisions_min: 100, hours_min: 24 },
  { share: 0.25, decisions_min: 500, hours_min: 48 },
  { share: 1, decisions_min: 1_000, hours_min: 72 },
];
const defaultGuard: RolloutGuard = { holds_per_day_max: 50, overridden_share_max: 0.1, timed_out_share_max: 0.1 };

/**
 * Plans the rollout of a membrane in shadow, or replaces the plan. Going live begins it. Faults: not_found, invalid_request (a
 * share that does not grow), state_conflict (the membrane is live, and a plan would stop enforcing agents).
 */
export async function planRollout(
  runtime: RolloutDeps,
  caller: Caller,
  membrane_id: string,
  { stages = [...defaultStages], guard, advances_itself = false, returns_holds_itself = false }: RolloutInput,
): Promise<Rollout> {
  stages.forEach(({ share }, at) => {
    if (share > (stages[at - 1]?.share ?? 0)) return;
    throw faultAt(
      "invalid_request",
      `/stages/${at}/share`,
      "not_allowed",
      "The share must be greater than in the stage before.",
    );
  });
  const planned = await changeRollout(runtime, caller, membrane_id, async (found) => {
    refuseLive(found.membrane.status);
    await endRequestedMove(caller.org_id, found);
    const plan = { stages, guard: { ...defaultGuard, ...guard }, advances_itself, returns_holds_itself };
    const row: RolloutRow = {
      ...{ membrane_id, salt: runtime.ids.salt(), ...plan, stage: 1, breaches: [], ...beginsRun },
      ...{ status: "running", holds_stage: null, created_by: caller.actor, created_at: found.at },
    };
    return { row, type: "rollout_planned", data: plan };
  });
  return planned as Rollout;
}

/** Removes the plan of a membrane in shadow, which then goes live for all agents. Faults: not_found, state_conflict (live). */
export async function removeRollout(runtime: RolloutDeps, caller: Caller, membrane_id: string): Promise<void> {
  await changeRollout(runtime, caller, membrane_id, async (found) => {
    demandRollout(found);
    refuseLive(found.membrane.status);
    await endRequestedMove(caller.org_id, found);
    return { row: null, type: "rollout_removed", data: {} };
  });
}

/** The second person must not confirm another plan than the first person asked for. */
async function endRequestedMove(org_id: string, { query, membrane }: Found): Promise<void> {
  if (membrane.requested_move !== null) await requestMove(query, org_id, membrane.membrane_id, null);
}

function refuseLive(status: string): void {
  if (status !== "live") return;
  const message = "The membrane is live. Advance, stop or return its rollout, or return the membrane to shadow first.";
  throw faultAt("state_conflict", "", "status", message);
}
