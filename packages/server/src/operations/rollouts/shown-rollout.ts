import type { Membrane, Rollout, RolloutStage } from "@countersign/contract";
import { type GuardCounts, isComplete, isEnforced, type StageCounts, shownFigures } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type RolloutRow, readRegistered } from "../../store/rollouts/rollouts.ts";

const nothing: StageCounts = { days: 0, decisions: 0, holds: 0, blocks: 0, overridden: 0, reviews: 0, timed_out: 0 };

/** Returns a stored rollout as answers show it. */
export async function shownRollout(
  query: Query,
  org_id: string,
  { status }: Membrane,
  row: RolloutRow,
): Promise<Rollout> {
  const { salt, counted_from, ...stored } = row;
  const { counted_before: _, run_from: _from, run_before: _before, run_counts, counts, holds_stage, ...shown } = stored;
  const share = shareOf(row);
  const registered = await readRegistered(query, org_id);
  const seen = counts ?? nothing;
  return {
    ...shown,
    status: status === "live" ? row.status : "waiting",
    share,
    holds_share: holdsShareOf(row),
    complete: status === "live" && isComplete(stageOf(row), seen),
    agents: {
      registered: registered.length,
      enforced: registered.filter((each) => isEnforced(each, salt, share)).length,
    },
    figures: shownFigures(row.guard, guardCounts(row, seen, run_counts ?? nothing), row.stages.length),
    stage_at: counted_from,
  };
}

export function stageOf({ stages, stage }: Pick<RolloutRow, "stages" | "stage">): RolloutStage {
  const found = stages[stage - 1];
  if (found === undefined) throw new Error(`a rollout has no stage ${stage}`);
  return found;
}

export function shareOf(row: Pick<RolloutRow, "stages" | "stage" | "status">): number {
  return row.status === "arrived" ? 1 : stageOf(row).share;
}

/** The share of agents that are also held. */
export function holdsShareOf(row: Pick<RolloutRow, "stages" | "stage" | "status" | "holds_stage">): number {
  if (row.holds_stage === null) return shareOf(row);
  return row.holds_stage === 0 ? 0 : stageOf({ stages: row.stages, stage: row.holds_stage }).share;
}

export function guardCounts(
  { counted_from, run_from }: Pick<RolloutRow, "counted_from" | "run_from">,
  stage: StageCounts,
  run: StageCounts,
): GuardCounts {
  return { run, stage: counted_from === run_from ? null : stage };
}

/** Returns the members of a row that goes on to its next stage, or arrives. */
export function nextStage({ stages, stage }: RolloutRow): Pick<RolloutRow, "stage" | "status"> {
  return stage < stages.length ? { stage: stage + 1, status: "running" } : { stage, status: "arrived" };
}
