import { type Escalation, limits, type SnoozeInput, type TakeInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, isReached, timestampUs, us_per_day } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditEntry, auditRow } from "../../store/audit/audit.ts";
import { endSnoozes, readMarks, writeSnooze, writeTaken } from "../../store/escalations/review-marks.ts";
import { changeHead } from "../../store/organizations/heads.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { demandCurrentKey, untilFresh } from "../shared/stale.ts";
import { storableUs } from "../shared/storable-time.ts";
import { type LockedReview, lockReview, readAction, shownText } from "./review-steps.ts";

type MarkingRuntime = Pick<Runtime, "db" | "ids" | "callers">;

interface Marking {
  readonly query: Query;
  readonly caller: Caller;
  readonly locked: LockedReview;
  readonly person: string;
}

/** Takes a review or gives it back. Faults: not_found, escalation_closed, unavailable. */
export function takeEscalation(
  runtime: MarkingRuntime,
  caller: Caller,
  escalation_id: string,
  { taken = true }: TakeInput,
): Promise<Escalation> {
  return marked(runtime, caller, escalation_id, async ({ query, locked: { at }, caller: { org_id }, person }) => {
    await writeTaken(query, org_id, escalation_id, taken ? person : null, at);
    await endSnoozes(query, org_id, escalation_id, null);
    return { type: "review_taken", data: { escalation_id, taken } };
  });
}

/** Comments on a review without a ruling. Faults: not_found, escalation_closed, unavailable. */
export function commentOnEscalation(
  runtime: MarkingRuntime,
  caller: Caller,
  escalation_id: string,
  comment: string,
): Promise<Escalation> {
  return marked(runtime, caller, escalation_id, async ({ query, locked: { review }, caller: { org_id }, person }) => {
    const shown = shownText({ review, intent: await readAction(query, org_id, review) }, comment);
    await endSnoozes(query, org_id, escalation_id, null);
    return { type: "commented", data: { escalation_id, by: person, comment: shown } };
  });
}

/**
 * Hides a review from the caller's queue, or shows it again. Only the caller sees it, so no audit record is written.
 * Faults: not_found, escalation_closed, invalid_request (a time that is over or too late), unavailable.
 */
export function snoozeEscalation(
  runtime: MarkingRuntime,
  caller: Caller,
  escalation_id: string,
  { until }: SnoozeInput,
): Promise<Escalation> {
  return marked(runtime, caller, escalation_id, async ({ query, locked: { at }, caller: { org_id }, person }) => {
    if (until === null) await endSnoozes(query, org_id, escalation_id, person);
    else await writeSnooze(query, org_id, escalation_id, person, snoozeEnd(until, at));
    return null;
  });
}

function snoozeEnd(until: string, at: string): string {
  const until_us = storableUs(until);
  const left_us = until_us - timestampUs(at);
  if (left_us > 0 && left_us <= limits.snooze_days_max * us_per_day) return formatTimestampUs(until_us);
  const message = `\`until\` must be in the future, at most ${limits.snooze_days_max} days.`;
  throw faultAt("invalid_request", "/until", "out_of_range", message);
}

function marked(
  runtime: MarkingRuntime,
  caller: Caller,
  escalation_id: string,
  mark: (marking: Marking) => Promise<Pick<AuditEntry, "type" | "data"> | null>,
): Promise<Escalation> {
  return untilFresh(runtime, caller, (current) =>
    runtime.db.tenant(current.org_id, async (query) => {
      const { org_id, actor, lineage_id } = current;
      const { person } = await identityOf(query, org_id, lineage_id);
      const locked = await lockReview(query, org_id, escalation_id);
      demandCurrentKey(locked.head, current);
      const { record } = locked.review;
      if (record.status !== "pending" || isReached(record.expires_at, locked.at)) throw new Fault("escalation_closed");
      const change = await mark({ query, caller: current, locked, person });
      if (change !== null) {
        const entry = { intent_id: record.intent_id, at: locked.at, actor, ...change };
        await changeHead(query, locked.head, { audit: [auditRow(runtime.ids, entry)] });
      }
      return { ...record, ...(await readMarks(query, org_id, record, person)) };
    }),
  );
}
