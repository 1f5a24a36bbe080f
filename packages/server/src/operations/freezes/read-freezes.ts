import { type Freeze, type FreezePreview, type FreezePreviewQuery, limits } from "@countersign/contract";
import { faultAt, freezesOf } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readParents } from "../../store/agents/agents.ts";
import {
  type Counted,
  countDecisionsSince,
  countLiveOverrides,
  countOpenReviews,
  listFreezes,
  readLineagesOf,
} from "../../store/freezes/freezes.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import { firstIdAt } from "../../store/rows/first-id-at.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { type FreezeTarget, subjectOf } from "./freeze-subject.ts";

const day_ms = 86_400_000;

export function readFreezeList(runtime: Pick<Runtime, "db">, { org_id }: Pick<Caller, "org_id">): Promise<Freeze[]> {
  return runtime.db.tenant(org_id, (query) => listFreezes(query, org_id));
}

/** Counts what a freeze would stop. Faults: invalid_request (wrong parameters), not_found (a key). */
export async function previewFreeze(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  asked: FreezePreviewQuery,
): Promise<FreezePreview> {
  const target = targetOf(org_id, asked);
  return runtime.db.tenant(org_id, (query) => count(query, org_id, target));
}

async function count(query: Query, org_id: string, target: FreezeTarget): Promise<FreezePreview> {
  const subject = await subjectOf(query, org_id, target);
  const lineages = target.kind === "key" ? await readLineagesOf(query, org_id, subject.subject) : [];
  const unwritten = { mode: "block", reason: "", frozen_by: "", frozen_at: "" } as const;
  const freezes = freezesOf([{ ...subject, ...unwritten, lineages }], await readParents(query, org_id));
  const stopped = (counted: readonly Counted[]): number =>
    counted.reduce((sum, each) => sum + (freezes.of(each).length > 0 ? each.count : 0), 0);

  const now_ms = (await databaseNowUs(query)) / 1000;
  const decisions_max = limits.freeze_preview_decisions_max;
  const first_id = firstIdAt("intent", Math.floor(now_ms - day_ms));
  const decisions = await countDecisionsSince(query, org_id, first_id, decisions_max);
  const looked_at = decisions.reduce((sum, each) => sum + each.count, 0);
  return {
    decisions_24h: stopped(decisions),
    decisions_complete: looked_at < decisions_max,
    open_reviews: stopped(await countOpenReviews(query, org_id)),
    live_overrides: stopped(await countLiveOverrides(query, org_id)),
  };
}

function targetOf(org_id: string, { kind, agent_id, key_id }: FreezePreviewQuery): FreezeTarget {
  for (const [name, value, needed] of [
    ["agent_id", agent_id, "agent"],
    ["key_id", key_id, "key"],
  ] as const) {
    if (value === undefined && kind === needed)
      throw faultAt("invalid_request", `/${name}`, "required", `Name the ${kind}.`);
    if (value !== undefined && kind !== needed)
      throw faultAt("invalid_request", `/${name}`, "not_allowed", `Only a preview of the kind ${needed} has this.`);
  }
  return { kind, name: agent_id ?? key_id ?? org_id };
}
