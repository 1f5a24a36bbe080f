import { type AuditType, type Decision, type Escalation, type EventType, limits } from "@countersign/contract";
import { formatTimestampUs, parseTimestampUs, type Review, type ReviewStep, us_per_second } from "@countersign/core";
import type { Ids } from "../../ports.ts";
import { type AuditRow, auditRow, recordHash } from "../../store/audit/audit.ts";
import { countsOf } from "../../store/audit/state/counts-of.ts";
import type { EventRow } from "../../store/commit/commit-writer-rows.ts";
import type { CountsOf } from "../../store/counters/counters.ts";
import { eventRow } from "../shared/event-row.ts";

export interface StepAudit {
  readonly actor: string;
  /** Null: the step has no row of its own. */
  readonly type: Extract<AuditType, "voted" | "reassigned"> | null;
  readonly data?: Readonly<Record<string, unknown>>;
  /** Actions whose counts the end of the review changed. */
  readonly counts_of?: CountsOf;
}

const closedAs = { decided: "reviewed", timed_out: "timed_out", cancelled: "cancelled" } as const;

export function resolutionOf({ record, ruling }: Review, step: ReviewStep): Partial<Decision> {
  const outcome = record.resolution?.outcome ?? "block";
  const let_through = outcome === "block" ? null : ruling;
  return {
    outcome,
    status: "final",
    escalation_status: record.status,
    ...messageIn(record),
    ...(let_through === null ? {} : approvalEnd(step)),
    modifications: [...(let_through?.modifications ?? [])],
    modified_content: let_through?.modified_content ?? null,
  };
}

/** Returns the end of the approval; no member if a timeout approved, because no person did. */
function approvalEnd(step: ReviewStep): Pick<Decision, "approval_expires_at"> {
  if (step.kind !== "vote") return {};
  const { at, approval_valid_seconds = limits.approval_valid_seconds_default } = step;
  return {
    approval_expires_at: formatTimestampUs((parseTimestampUs(at) ?? 0) + approval_valid_seconds * us_per_second),
  };
}

function messageIn({ resolution }: Escalation): Pick<Decision, "message_to_agent"> {
  const message_to_agent = resolution?.message_to_agent;
  return message_to_agent === undefined ? {} : { message_to_agent };
}

export function stepAuditRows(
  ids: Ids,
  before: Review,
  review: Review,
  step: ReviewStep,
  { actor, type, data, counts_of = [] }: StepAudit,
): AuditRow[] {
  const { at } = step;
  const { intent_id, escalation_id, status, resolution, self_reviewed } = review.record;
  const rows: AuditRow[] = [];
  if (type !== null) {
    const voided = voidedVotes(before, review);
    const noted = { escalation_id, ...data, ...(voided.length === 0 ? {} : { voided }) };
    rows.push(auditRow(ids, { intent_id, at, actor, type, data: noted }));
  }
  if (status !== "pending" && resolution !== null) {
    const { outcome, by, comment } = resolution;
    const modifications = resolution.modifications.length;
    const record_sha256 = recordHash([JSON.stringify(resolutionOf(review, step)), JSON.stringify(review.record)]);
    const own = self_reviewed ? { self_reviewed } : {};
    const said = { comment, ...messageIn(review.record), ...own };
    const closing = { escalation_id, outcome, by, ...said, modifications, record_sha256, ...countsOf(counts_of) };
    rows.push(auditRow(ids, { intent_id, at, actor, type: closedAs[status], data: closing }));
  }
  return rows;
}

export function stepEvents(ids: Ids, organization_id: string, record: Escalation, step: ReviewStep): EventRow[] {
  const { escalation_id, intent_id, status } = record;
  const open_as: EventType = step.kind === "reassign" ? "escalation.reassigned" : "escalation.decided";
  const event_type: EventType = status === "pending" ? open_as : `escalation.${status}`;
  const at_us = parseTimestampUs(step.at) ?? 0;
  const about = { event_type, organization_id, at_us, intent_id, escalation_id, escalation_status: status };
  const data = status === "pending" && step.kind === "vote" ? undecidedRecord(record) : record;
  return [eventRow(ids, { ...about, data })];
}

/**
 * Returns the record for the event of a vote that leaves the review open. Omits votes, counts and `on_timeout`, so that
 * receivers do not mistake it for an approval.
 */
function undecidedRecord(whole: Escalation) {
  const { votes: _votes, quorum: _quorum, panels: _panels, on_timeout: _on_timeout, ...record } = whole;
  return { ...record, outcome: null };
}

function voidedVotes(before: Review, { record }: Review): string[] {
  const remaining = new Set(record.votes.map(({ reviewer }) => reviewer));
  return before.record.votes.flatMap(({ reviewer }) => (remaining.has(reviewer) ? [] : [reviewer]));
}
