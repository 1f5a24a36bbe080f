/**
 * One step of a review, whoever takes it: state, decision, audit and events change together, under the lock of the
 * organization's head. The step itself is core's `stepReview`; the database's clock has the last word on the deadline.
 */
import type { AuditType, Decision, Escalation, EventType } from "@countersign/contract";
import {
  Fault,
  faultAt,
  type MergedFacts,
  parseTimestampUs,
  type Review,
  type ReviewStep,
  type Ruling,
  stepReview,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow, recordHash } from "../../store/audit/audit.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";
import { moveReview, readReview, settleIntent } from "../../store/escalations/escalations.ts";
import type { readIntent } from "../../store/intents/intents.ts";
import { type Head, type StateEpochs, withHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { eventRow } from "../shared/event-row.ts";
import type { OrgState } from "../shared/org-state.ts";
import { Outdated, untilCurrent } from "../shared/until-current.ts";

/** What a change needs of its node. */
export type ReviewRuntime = Pick<Runtime, "ids">;

/** What a step is audited as, beyond the rows that follow from closing. */
interface StepAudit {
  readonly actor: string;
  readonly type: Extract<AuditType, "voted" | "reassigned"> | null;
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * Takes the step that `stepAt` makes of the escalation as it is under the lock, at the moment given. Answers with the
 * record after it. Faults: not_found, escalation_closed, state_conflict (others approved something else).
 */
export async function changeEscalation(
  runtime: ReviewRuntime,
  query: Query,
  org_id: string,
  escalation_id: string,
  audit: StepAudit,
  stepAt: (at: string, head: Head, review: Review) => ReviewStep | Promise<ReviewStep>,
): Promise<Escalation> {
  let record: Escalation | undefined;
  await withHead(query, org_id, async (head) => {
    const before = await readReview(query, org_id, escalation_id);
    if (before === undefined) throw new Fault("not_found");
    const step = await stepAt(await databaseNow(query), head, before);
    const stepped = stepReview(before, step);
    if (stepped.kind === "refused") throw refusal(stepped.because);
    const { review } = stepped;
    ({ record } = review);
    if (!(await moveReview(query, org_id, review, step.kind === "time_over" ? "late" : "in_time")))
      throw refusal("closed");
    if (record.status !== "pending") await settleIntent(query, org_id, record.intent_id, resolutionOf(review));
    return { audit: auditOf(runtime, before, review, step, audit), events: eventOf(runtime, org_id, record, step) };
  });
  if (record === undefined) throw new Error("the head was changed without a step");
  return record;
}

/** Refuses to act on a key that was revoked or changed since the gate read it. */
export function demandCurrent(head: Head, caller: Pick<Caller, "auth_epoch">): void {
  if (head.auth_epoch !== caller.auth_epoch) throw new Outdated("keys");
}

/**
 * Refuses to rest on policies and membranes that changed since `state` was read. An epoch that was raised is no reason by
 * itself: each override raises it, so of many at once all but one would start over again and again, each behind all others.
 */
export async function demandInForce(
  runtime: Pick<Runtime, "orgStates">,
  query: Query,
  org_id: string,
  now: StateEpochs,
  state: OrgState,
): Promise<void> {
  if (now.policy_epoch === state.policy_epoch && now.context_epoch === state.context_epoch) return;
  runtime.orgStates.forget(org_id, state);
  if (!(await state.isInForce(query))) throw new Outdated("policies");
}

/** An intent whose action waits. */
export type IntentInReview = NonNullable<Awaited<ReturnType<typeof readIntent>>>;

/**
 * What it is decided on again: the rules of now, on the facts and at the time of its decision. The change since then is in
 * question, not how old the facts have become while the action waited.
 */
export function inputAgain(state: OrgState, row: IntentInReview) {
  const { intent_id, membrane_id, facts, mode, created_at } = row;
  const deciding = state.membrane(membrane_id);
  if (deciding === undefined) throw new Error(`${intent_id} has no membrane ${membrane_id}`);
  const { policySet, membrane } = deciding;
  return { facts: facts as MergedFacts, mode, now_us: parseTimestampUs(created_at) ?? 0, policySet, membrane };
}

/** What an approval lets through when nobody changes more than the policies asked for. */
export function rulingOf(decision: Pick<Decision, "modifications" | "modified_content">): Ruling {
  const { modifications, modified_content } = decision;
  return { outcome: modifications.length > 0 ? "approve_modified" : "approve", modifications, modified_content };
}

/** Runs an operation again while what it assumed about its caller is outdated. Faults: unavailable, those of `work`. */
export function withCurrentCaller<T>(
  runtime: Pick<Runtime, "callers">,
  caller: Caller,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  let current = caller;
  return untilCurrent(
    () => work(current),
    async () => {
      current = await runtime.callers.reload(current);
    },
  );
}

function refusal(because: "closed" | "early" | "disagrees"): Fault {
  if (because !== "disagrees") return new Fault("escalation_closed");
  const message = "Other reviewers approved the action with other modifications; approve the same, or decide block.";
  return faultAt("state_conflict", "/modifications", "not_allowed", message);
}

/** The members of the decision that a closed review replaces. */
function resolutionOf({ record, ruling }: Review): Partial<Decision> {
  const outcome = record.resolution?.outcome ?? "block";
  const through = outcome === "block" ? null : ruling;
  return {
    outcome,
    status: "final",
    escalation_status: record.status,
    modifications: through === null ? [] : [...through.modifications],
    modified_content: (through?.modified_content ?? null) as Decision["modified_content"],
  };
}

const closedAs = { decided: "reviewed", timed_out: "timed_out", cancelled: "cancelled" } as const;

/** Whose votes the step ended, but for that of whoever voted again. */
function voidedBy(before: Review, { record }: Review): string[] {
  const stand = new Set(record.votes.map(({ reviewer }) => reviewer));
  return before.record.votes.flatMap(({ reviewer }) => (stand.has(reviewer) ? [] : [reviewer]));
}

function auditOf(
  { ids }: ReviewRuntime,
  before: Review,
  review: Review,
  step: ReviewStep,
  { actor, type, data }: StepAudit,
): AuditRow[] {
  const { intent_id, escalation_id, status, resolution } = review.record;
  const { at } = step;
  const rows: AuditRow[] = [];
  if (type !== null) {
    const voided = voidedBy(before, review);
    const noted = { escalation_id, ...data, ...(voided.length === 0 ? {} : { voided }) };
    rows.push(auditRow(ids, { intent_id, at, actor, type, data: noted }));
  }
  if (status !== "pending" && resolution !== null) {
    const { outcome, by, comment } = resolution;
    const modifications = resolution.modifications.length;
    const record_sha256 = recordHash([JSON.stringify(resolutionOf(review)), JSON.stringify(review.record)]);
    rows.push(
      auditRow(ids, {
        intent_id,
        at,
        actor,
        type: closedAs[status],
        data: { escalation_id, outcome, by, comment, modifications, record_sha256 },
      }),
    );
  }
  return rows;
}

/** A vote that leaves the review open is no decision yet: it is told by the audit trail only. */
function eventOf({ ids }: ReviewRuntime, organization_id: string, record: Escalation, step: ReviewStep): EventRow[] {
  const { escalation_id, intent_id, status } = record;
  if (status === "pending" && step.kind !== "reassign") return [];
  const event_type: EventType = status === "pending" ? "escalation.reassigned" : `escalation.${status}`;
  const at_us = parseTimestampUs(step.at) ?? 0;
  const facts = { event_type, organization_id, at_us, intent_id, escalation_id, escalation_status: status };
  return [eventRow(ids, { ...facts, data: record })];
}
