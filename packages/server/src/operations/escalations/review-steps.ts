/**
 * Steps shared by all changes of a review: load, lock, take a step, write. Lock order: the organization's head, then
 * the review's row.
 */
import type { Escalation } from "@countersign/contract";
import {
  type CountedAction,
  Fault,
  hasTurn,
  hiddenTextsInAction,
  hiddenTextsInChange,
  openTiers,
  type Review,
  type ReviewStep,
  redactedRemark,
  type StepRefusal,
  stepReview,
  withNames,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { AuditRow } from "../../store/audit/audit.ts";
import { noteReviewChanged } from "../../store/channels/review-cards.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";
import { type CountsOf, changeCounted, replaceCounted } from "../../store/counters/counters.ts";
import { moveReview, readReview } from "../../store/escalations/escalations.ts";
import { endSnoozes } from "../../store/escalations/review-marks.ts";
import { readIntent, type StoredIntent } from "../../store/intents/intents.ts";
import { changeHead, type Head, lockHead } from "../../store/organizations/heads.ts";
import { markUntold } from "../../store/people/mails.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { presentPerson } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import { stepFault } from "./ruling-faults.ts";
import { resolutionOf, type StepAudit, stepAuditRows, stepEvents } from "./step-rows.ts";

export interface LoadedReview {
  readonly review: Review;
  readonly intent: StoredIntent;
}

export interface LockedReview {
  readonly head: Head;
  readonly review: Review;
  /** Time of the lock by the database's clock, RFC 3339. */
  readonly at: string;
}

export async function loadReview(query: Query, org_id: string, escalation_id: string): Promise<LoadedReview> {
  const review = await readReview(query, org_id, escalation_id);
  if (review === undefined) throw new Fault("not_found");
  const intent = await readIntent(query, org_id, review.record.intent_id);
  if (intent === undefined) throw new Fault("not_found");
  return { review, intent };
}

/** Reads the action of a review. Intents are never deleted, so a missing one is a broken invariant. */
export async function readAction(query: Query, org_id: string, { record }: Review): Promise<StoredIntent> {
  const intent = await readIntent(query, org_id, record.intent_id);
  if (intent === undefined) throw new Error(`${record.intent_id} is not stored`);
  return intent;
}

/**
 * Returns a reviewer's text without the texts that policies hide in the action or the approved change, and without
 * `also_hidden`.
 */
export function shownText(
  { review, intent }: LoadedReview,
  text: string | undefined,
  also_hidden: readonly string[] = [],
): string | null {
  if (text === undefined) return null;
  return redactedRemark(text, [...hiddenTextsInAction(intent), ...also_hidden, ...hiddenTextsInChange(review.ruling)]);
}

/**
 * Locks the organization's head, then reads the review with its open second tiers. The organization's decisions wait
 * until the commit. Faults: not_found.
 */
export async function lockReview(query: Query, org_id: string, escalation_id: string): Promise<LockedReview> {
  const head = await lockHead(query, org_id);
  const stored = await readReview(query, org_id, escalation_id);
  if (stored === undefined) throw new Fault("not_found");
  const review = await withPresentPersons(query, org_id, stored);
  const at = await databaseNow(query);
  return { head, review: openTiers(review, at), at };
}

async function withPresentPersons(query: Query, org_id: string, review: Review): Promise<Review> {
  const renamed = new Map<string, string>();
  for (const { reviewer } of review.record.votes) {
    const person = await presentPerson(query, org_id, reviewer);
    if (person !== reviewer) renamed.set(reviewer, person);
  }
  return renamed.size === 0 ? review : withNames(review, renamed);
}

/**
 * Takes one step of a locked review and writes review, decision (if closed), audit rows and event. Returns the new
 * record. The deadline uses the database's clock. Faults: escalation_closed, state_conflict (others approved something
 * else).
 */
export async function takeStep(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  { head, review: before }: LockedReview,
  step: ReviewStep,
  audit: StepAudit,
  counted?: readonly CountedAction[],
): Promise<Escalation> {
  const moved = await moveOne(runtime, query, head.org_id, before, step, audit, counted);
  if (moved.kind === "refused") throw stepFault(moved);
  await changeHead(query, head, moved.changes);
  return moved.record;
}

/**
 * Cancels reviews under the head's lock, as the service. Skips closed and expired ones. Returns rows for the caller to
 * write.
 */
export async function cancelReviews(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  org_id: string,
  escalation_ids: readonly string[],
  step: Extract<ReviewStep, { kind: "cancel" }>,
): Promise<StepChanges> {
  const audit: AuditRow[] = [];
  const events: EventRow[] = [];
  for (const escalation_id of escalation_ids) {
    const review = await readReview(query, org_id, escalation_id);
    if (review === undefined) continue;
    const moved = await moveOne(runtime, query, org_id, review, step, { actor: "system", type: null });
    if (moved.kind === "refused") continue;
    audit.push(...moved.changes.audit);
    events.push(...moved.changes.events);
  }
  return { audit, events };
}

interface StepChanges {
  readonly audit: readonly AuditRow[];
  readonly events: readonly EventRow[];
}

type Moved =
  | { readonly kind: "moved"; readonly record: Escalation; readonly changes: StepChanges }
  | ({ readonly kind: "refused" } & StepRefusal);

async function moveOne(
  { ids }: Pick<Runtime, "ids">,
  query: Query,
  org_id: string,
  before: Review,
  step: ReviewStep,
  audit: StepAudit,
  counted?: readonly CountedAction[],
): Promise<Moved> {
  const stepped = stepReview(before, step);
  if (stepped.kind === "refused") return stepped;
  const { review } = stepped;
  const { record } = review;
  const when = step.kind === "time_over" ? "late" : "in_time";
  const resolution = record.status === "pending" ? null : resolutionOf(review, step);
  if (!(await moveReview(query, org_id, review, resolution, when))) return { kind: "refused", because: "closed" };
  await noteReviewChanged(query, org_id, record.escalation_id);
  await endSnoozes(query, org_id, record.escalation_id, null);
  const counts_of = record.status === "pending" ? [] : await countEnd(query, org_id, record, step.at, counted);
  if (step.kind === "vote" && asksOthers(before, review)) await markUntold(query, org_id, record.escalation_id);
  const changes = {
    audit: stepAuditRows(ids, before, review, step, { ...audit, counts_of }),
    events: stepEvents(ids, org_id, record, step),
  };
  return { kind: "moved", record, changes };
}

/**
 * Counts an action whose review has ended from the time of its approval on, or releases it. `counted`: how it counts now, if a person
 * approved it.
 */
async function countEnd(
  query: Query,
  org_id: string,
  { intent_id, agent_id, pipeline_mode: mode, resolution }: Escalation,
  at: string,
  counted: readonly CountedAction[] | undefined,
): Promise<CountsOf> {
  const outcome = resolution?.outcome ?? "block";
  if (outcome === "block") return changeCounted(query, org_id, intent_id, null, null);
  if (counted === undefined) return changeCounted(query, org_id, intent_id, outcome, at);
  const action = { intent_id, agent_id, mode };
  return replaceCounted(query, org_id, action, outcome, at, counted);
}

function asksOthers(before: Review, { record, demands }: Review): boolean {
  if (record.status !== "pending") return false;
  if (record.reviewers.length !== before.record.reviewers.length) return true;
  return demands.some((demand, place) => {
    const earlier = before.demands[place];
    return earlier !== undefined && hasTurn(demand, demands) && !hasTurn(earlier, before.demands);
  });
}
