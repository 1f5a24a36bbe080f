import type { AuditType, EventType, Membrane, RolloutBreach } from "@countersign/contract";
import { breachesOf, isComplete, parseTimestampUs, type StageCounts, us_per_day } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";
import { readMembrane } from "../../store/membranes/membranes.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { listPeople } from "../../store/people/people.ts";
import {
  type FiguresThen,
  listRunning,
  type RolloutRow,
  type RunningRollout,
  readLiveFigures,
  readPeopleSince,
  readRollout,
  writeRollout,
} from "../../store/rollouts/rollouts.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { countNewest } from "../figures/keep-figures.ts";
import { writeMail } from "../people/mail.ts";
import type { Runtime } from "../runtime.ts";
import { eventRow } from "../shared/event-row.ts";
import { beginsRun, beginsStage } from "./change-rollout.ts";
import { guardCounts, holdsShareOf, nextStage, shareOf, stageOf } from "./shown-rollout.ts";

type Watching = Pick<Runtime, "db" | "ids" | "sealer" | "mails" | "deliveries" | "log">;

const page_rows = 100;
const mailed_max = 100;

/** Looks at every running rollout once: counts its stage, and stops or advances it. A failing one does not block others. */
export async function watchRollouts(runtime: Watching, stopped: () => boolean): Promise<void> {
  let after: RunningRollout = { org_id: "", membrane_id: "" };
  for (let more = true; more && !stopped(); ) {
    const from = after;
    const found = await runtime.db.system((query) => listRunning(query, from, page_rows));
    for (const each of found) {
      after = each;
      try {
        await watchRollout(runtime, each);
      } catch (error) {
        runtime.log.error({ err: error, ...each }, "could not look at a rollout");
      }
    }
    more = found.length === page_rows;
  }
}

async function watchRollout(runtime: Watching, { org_id, membrane_id }: RunningRollout): Promise<void> {
  // The stage begins with these figures, or is judged by them.
  await countNewest(runtime.db, org_id);
  const acts = await runtime.db.tenant(org_id, async (query) => {
    const head = await lockHead(query, org_id);
    const row = await readRollout(query, org_id, membrane_id);
    const membrane = await readMembrane(query, org_id, membrane_id);
    if (row?.status !== "running" || membrane === undefined) return null;
    const at = await databaseNow(query);
    const { next, act } = await judged(query, org_id, row, { is_live: membrane.status === "live", at });
    await writeRollout(query, org_id, next);
    if (act === null) return null;
    const entry = (type: AuditType, data: object) =>
      auditRow(runtime.ids, { intent_id: null, at, actor: "system", type, data: { membrane_id, ...data } });
    if (act === "advanced") {
      const data = { stage: next.stage, share: shareOf(next), arrived: next.status === "arrived" };
      await changeHead(query, head, { raise: ["policy"], audit: [entry("rollout_advanced", data)] });
      return act;
    }
    const { stage, breaches, holds_stage } = next;
    const audit = [entry("rollout_stopped", { stage, breaches })];
    if (holds_stage !== null)
      audit.push(entry("rollout_holds_returned", { stage, share: shareOf(next), holds_share: holdsShareOf(next) }));
    const events = stopEvents(runtime, org_id, membrane, next, at);
    await changeHead(query, head, { raise: ["policy"], audit, events });
    await mailStop(runtime, query, org_id, membrane, next);
    return act;
  });
  if (acts !== "stopped") return;
  runtime.mails.wake();
  runtime.deliveries.wake(org_id);
}

function stopEvents(
  { ids }: Pick<Runtime, "ids">,
  organization_id: string,
  { membrane_id, name: membrane }: Membrane,
  row: RolloutRow,
  timestamp: string,
): EventRow[] {
  const at_us = parseTimestampUs(timestamp) ?? 0;
  const place = { membrane_id, membrane, stage: row.stage, share: shareOf(row), timestamp };
  const event = (event_type: EventType, data: object) =>
    eventRow(ids, { event_type, organization_id, at_us, data: { ...place, ...data } }, membrane_id);
  const breached = event("rollout.breached", { breaches: row.breaches });
  if (row.holds_stage === null) return [breached];
  return [breached, event("rollout.holds_returned", { holds_share: holdsShareOf(row) })];
}

async function mailStop(
  runtime: Watching,
  query: Query,
  org_id: string,
  { name: membrane }: Membrane,
  row: RolloutRow,
): Promise<void> {
  const holds_share = row.holds_stage === null ? {} : { holds_share: holdsShareOf(row) };
  const said = { membrane, share: shareOf(row), ...holds_share, breaches: row.breaches.map(({ message }) => message) };
  for (const { email: to } of await listPeople(query, org_id, "admin", mailed_max, null))
    await writeMail(runtime, query, "rollout_stopped", { to, ...said });
}

interface Judged {
  readonly next: RolloutRow;
  readonly act: "stopped" | "advanced" | null;
}

/** Counting begins with the first look at a live membrane, and again after a time in shadow. */
async function judged(
  query: Query,
  org_id: string,
  row: RolloutRow,
  { is_live, at }: { readonly is_live: boolean; readonly at: string },
): Promise<Judged> {
  const { membrane_id, guard, stages, advances_itself } = row;
  if (!is_live) return { next: { ...row, ...beginsRun }, act: null };
  if (row.counted_from === null || row.counted_before === null) {
    const counted_before = await readLiveFigures(query, org_id, membrane_id, at);
    const run = row.run_from === null ? { run_from: at, run_before: counted_before } : {};
    return { next: { ...row, ...run, counted_from: at, counted_before }, act: null };
  }
  const counts = await countsSince(query, org_id, row, row.counted_from, row.counted_before, at);
  const { run_from, run_before } = row;
  const begins_here = run_from === null || run_before === null || run_from === row.counted_from;
  const run_counts = begins_here ? counts : await countsSince(query, org_id, row, run_from, run_before, at);
  const seen = { ...row, counts, run_counts };
  const breaches = breachesOf(guard, guardCounts(row, counts, run_counts), stages.length);
  if (breaches.length > 0)
    return { next: { ...seen, breaches, status: "stopped", holds_stage: heldStage(row, breaches) }, act: "stopped" };
  if (!advances_itself || !isComplete(stageOf(row), counts)) return { next: seen, act: null };
  return { next: { ...seen, ...nextStage(row), ...beginsStage }, act: "advanced" };
}

/** Returns the stage to which the guard returns holds; null: it does not. Overridden blocks say nothing about holds. */
function heldStage({ returns_holds_itself, stage }: RolloutRow, breaches: readonly RolloutBreach[]): number | null {
  const is_about_holds = breaches.some(({ limit }) => limit !== "overridden_share_max");
  return returns_holds_itself && is_about_holds ? stage - 1 : null;
}

async function countsSince(
  query: Query,
  org_id: string,
  { membrane_id }: RolloutRow,
  from: string,
  before: FiguresThen,
  at: string,
): Promise<StageCounts> {
  const now = await readLiveFigures(query, org_id, membrane_id, from);
  return {
    days: Math.max(0, ((parseTimestampUs(at) ?? 0) - (parseTimestampUs(from) ?? 0)) / us_per_day),
    // A rebuild of the figures begins at 0.
    decisions: Math.max(0, now.decisions - before.decisions),
    holds: Math.max(0, now.holds - before.holds),
    blocks: Math.max(0, now.blocks - before.blocks),
    ...(await readPeopleSince(query, org_id, membrane_id, from)),
  };
}
