/** Webhook events. docs/reference/events.md is generated from this file. Source: spec §2.5–2.7 and §6. */

export interface EventField {
  readonly name: string;
  readonly type: string;
  readonly meaning: string;
}

export const decisionEventFields = [
  { name: "decision_id", type: "string", meaning: "prefix `dec_`" },
  {
    name: "human_override_id",
    type: "string or null",
    meaning: "set when a person's approval turned a block into this approval",
  },
  { name: "intent_id", type: "string", meaning: "prefix `int_`" },
  { name: "pipeline_mode", type: "string", meaning: "`live`, `shadow` or `test`" },
  { name: "risk_score", type: "number", meaning: "0 to 1, four decimals" },
  { name: "timestamp", type: "string", meaning: "ISO 8601 with a `+00:00` offset" },
  { name: "verdict", type: "string", meaning: "`approve`, `approve_modified`, `escalate` or `block`" },
] as const satisfies readonly EventField[];

export const overrideEventFields = [
  { name: "override_id", type: "string", meaning: "prefix `ovr_`" },
  { name: "agent_id", type: "string", meaning: "the agent whose next retry is approved" },
  { name: "approved_by", type: "string", meaning: "the person or key that approved" },
  { name: "approved_at", type: "string", meaning: "ISO 8601" },
  { name: "expires_at", type: "string", meaning: "ISO 8601, 24 hours after the approval" },
  {
    name: "policies_overridden",
    type: "array of string",
    meaning: "names of the policies that the approval overrides",
  },
] as const satisfies readonly EventField[];

export const quotaEventFields = [
  { name: "plan_id", type: "string", meaning: "the organization's plan" },
  {
    name: "included_actions",
    type: "number",
    meaning: "decisions that the plan includes per month, or the hard limit if the plan has no such number",
  },
  { name: "used_actions", type: "number", meaning: "decisions used in this month" },
  { name: "hard_limit", type: "number", meaning: "the limit that was reached" },
  { name: "batch_size", type: "number", meaning: "intents in the submission that reached the limit" },
  { name: "timestamp", type: "string", meaning: "ISO 8601" },
] as const satisfies readonly EventField[];

const rolloutPlaceFields = [
  { name: "membrane_id", type: "string", meaning: "prefix `mem_`" },
  { name: "membrane", type: "string", meaning: "the membrane's name" },
  { name: "stage", type: "number", meaning: "the stage of the rollout; 1 is the first" },
  { name: "share", type: "number", meaning: "the share of agents that is enforced, 0 to 1; a stop leaves it as it is" },
] as const satisfies readonly EventField[];

export const rolloutBreachedFields = [
  ...rolloutPlaceFields,
  {
    name: "breaches",
    type: "array of object",
    meaning: "`limit` (`holds_per_day_max`, `overridden_share_max` or `timed_out_share_max`) and `message`",
  },
  { name: "timestamp", type: "string", meaning: "ISO 8601" },
] as const satisfies readonly EventField[];

export const holdsReturnedFields = [
  ...rolloutPlaceFields,
  { name: "holds_share", type: "number", meaning: "the share of agents that is still held, 0 to 1" },
  { name: "timestamp", type: "string", meaning: "ISO 8601" },
] as const satisfies readonly EventField[];

export interface EventTypeRow {
  /** False: webhooks may subscribe to the name, but the service never sends it. */
  readonly sent: boolean;
  readonly sent_when: string;
  /** `organization`: organization-wide webhooks only. `escalation`: also the webhooks of that escalation. */
  readonly audience: "organization" | "escalation";
  readonly data: readonly EventField[] | "escalation_record" | "none";
}

export const eventTypes = {
  "decision.approved": {
    sent: true,
    sent_when: "an intent is approved, with or without modifications",
    audience: "organization",
    data: decisionEventFields,
  },
  "decision.blocked": {
    sent: true,
    sent_when: "an intent is blocked",
    audience: "organization",
    data: decisionEventFields,
  },
  "decision.escalated": {
    sent: true,
    sent_when: "an intent is escalated for human review",
    audience: "organization",
    data: decisionEventFields,
  },
  "decision.overridden": {
    sent: true,
    sent_when: "a person approves a blocked action",
    audience: "organization",
    data: overrideEventFields,
  },
  "escalation.decided": {
    sent: true,
    sent_when: "a reviewer votes on an escalation; `escalation_status` says whether the vote closed the review",
    audience: "escalation",
    data: "escalation_record",
  },
  "escalation.timed_out": {
    sent: true,
    sent_when: "no review arrived within the escalation's time limit",
    audience: "escalation",
    data: "escalation_record",
  },
  "escalation.cancelled": {
    sent: true,
    sent_when: "an operator or admin cancels the escalation, or the submitter withdraws the action (`withdrawn_by`)",
    audience: "escalation",
    data: "escalation_record",
  },
  "escalation.reassigned": {
    sent: true,
    sent_when: "the escalation is reassigned to other reviewers",
    audience: "escalation",
    data: "escalation_record",
  },
  "quota.exceeded": {
    sent: true,
    sent_when: "the organization reaches its hard usage limit, and the service refuses further intents",
    audience: "organization",
    data: quotaEventFields,
  },
  "rollout.breached": {
    sent: true,
    sent_when: "the guard of a rollout finds a limit broken, and stops the rollout",
    audience: "organization",
    data: rolloutBreachedFields,
  },
  "rollout.holds_returned": {
    sent: true,
    sent_when:
      "the guard of a rollout returns holds to shadow, which the plan must allow; `rollout.breached` comes before",
    audience: "organization",
    data: holdsReturnedFields,
  },
  "rate_limit.exceeded": { sent: false, sent_when: "never, for now", audience: "organization", data: "none" },
  "observation.recorded": { sent: false, sent_when: "never, for now", audience: "organization", data: "none" },
  "policy.calibrated": { sent: false, sent_when: "never, for now", audience: "organization", data: "none" },
  "pattern.detected": { sent: false, sent_when: "never, for now", audience: "organization", data: "none" },
} as const satisfies Record<string, EventTypeRow>;

export type EventType = keyof typeof eventTypes;

export type SentEventType = {
  [K in EventType]: (typeof eventTypes)[K]["sent"] extends true ? K : never;
}[EventType];

export const eventTypeNames = Object.keys(eventTypes) as EventType[];

/** Sent only when a person tests a webhook. Every webhook receives it, so nobody subscribes to it. */
export const test_event_type = "webhook.test";

/** Headers on every delivery. `webhook-…` are from Standard Webhooks, `ce-…` from CloudEvents 1.0 (binary mode). */
export const deliveryHeaders = [
  { name: "Content-Type", value: "`application/json`" },
  {
    name: "X-Service-Signature",
    value: "`sha256=` and the lowercase hex HMAC-SHA256 of the raw body, keyed with the whole `whsec_` secret as UTF-8",
  },
  { name: "X-Service-Event", value: "the event type" },
  { name: "X-Service-Delivery", value: "the `dlv_` delivery id, the same on automatic retries" },
  { name: "X-Service-Retry", value: "`true`, only on a manual retry or a replay" },
  { name: "webhook-id", value: "the delivery id" },
  { name: "webhook-timestamp", value: "Unix seconds of the attempt" },
  {
    name: "webhook-signature",
    value:
      "`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the decoded part after `whsec_`. During the " +
      "overlap of a rotation it has two signatures with a space between them: of the old secret, then of the new one",
  },
  { name: "ce-specversion", value: "`1.0`" },
  { name: "ce-id", value: "the delivery id; on a manual retry or a replay that of the first delivery" },
  { name: "ce-source", value: "`/organizations/` and the organization's id" },
  { name: "ce-type", value: "the event type" },
  { name: "ce-subject", value: "the intent's id; absent: the event is not about an intent" },
  { name: "ce-time", value: "`timestamp` of the body" },
] as const;
