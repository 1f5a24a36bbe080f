import Type, { type Static } from "typebox";
import { assuranceNames, untrusted_source, untrusted_token } from "../facts/assurance.ts";
import { limits } from "../limits.ts";
import { pullFailures } from "../pull-failures.ts";
import { Erased } from "./records/erased.ts";
import { Actor, anyObject, closed, id, nullable, oneOf, PipelineMode, text, timestamp } from "./shapes.ts";

/** The result of the rules for an intent. Source: spec §1. */
export const Verdict = oneOf(["approve", "approve_modified", "escalate", "block"]);
export type Verdict = Static<typeof Verdict>;

/** The permission of the agent. */
export const Outcome = oneOf(["approve", "approve_modified", "block"]);
export type Outcome = Static<typeof Outcome>;

export const EscalationStatus = oneOf(["pending", "decided", "timed_out", "cancelled"]);
export type EscalationStatus = Static<typeof EscalationStatus>;

export const Reason = Type.Object(
  {
    policy_id: nullable(
      text(limits.label_chars_max, {
        description:
          "null: a membrane threshold or default, a freeze, or names.look_alike, which reports a look-alike name",
      }),
    ),
    policy: text(limits.label_chars_max, { description: "the policy's name" }),
    version: nullable(Type.Integer()),
    effect: oneOf(["block", "escalate", "approve_modified", "none"]),
    message: text(4_000),
    citations: Type.Array(text(500)),
    unknown_facts: Type.Array(
      Type.Object({
        path: text(256, { description: "e.g. facts.organizational.delegation_limit_usd" }),
        reason: text(64, {
          description: `missing, null, stale, ${untrusted_source}, ${untrusted_token}, type, cost and others; if the context source gave no facts: ${Object.keys(pullFailures).join(", ")}`,
        }),
        assurance: Type.Optional(
          oneOf(assuranceNames, { description: `the assurance of a fact with the reason ${untrusted_source}` }),
        ),
      }),
      { description: "missing facts that made the policy fire; supply them and retry" },
    ),
  },
  { title: "Reason" },
);
export type Reason = Static<typeof Reason>;

export const Modification = Type.Object(
  {
    op: oneOf(["add", "remove", "replace"]),
    path: text(1_000, { description: "JSON Pointer into payload.content" }),
    value: Type.Optional(Type.Unknown()),
    policy_id: nullable(text(limits.label_chars_max)),
  },
  { title: "Modification" },
);
export type Modification = Static<typeof Modification>;

/**
 * One change with which the action would be approved: set `value` at `path`, or remove the parameter (`absent`). The
 * service has verified this value. See docs/decisions/0014-what-would-have-been-approved.md.
 */
export const ApprovalChange = Type.Object(
  {
    path: text(256, {
      description: "params.<name> for payload.content, facts.<category>.<fact>, or now for the time of the submission",
    }),
    op: oneOf(["at_most", "at_least", "equals", "present", "absent"], {
      description: "at_most and at_least: the rule's bound; present: a value like this; absent: no value",
    }),
    value: Type.Optional(Type.Unknown()),
  },
  {
    title: "ApprovalChange",
    description:
      "One entry of would_approve_if. The entries with a path in params or facts belong together: with all of these changes, a block or escalate " +
      "would have been approved. An entry with the path now is an alternative to them: the unchanged action would be approved from that " +
      "time on, because earlier actions leave the windows of counters, if no other action counts until then.",
  },
);
export type ApprovalChange = Static<typeof ApprovalChange>;

/** Messages of the reviewers who gave the outcome, in the order of their votes, separated by an empty line. */
export const MessageToAgent = text(limits.escalation_reviewers_max * (limits.comment_chars_max + 2), {
  description: "messages of the reviewers who gave this outcome to the agent and its model; absent: none",
});
export const Execution = Type.Object(
  {
    status: oneOf(["none", "claimed", "executed", "failed", "skipped", "unknown", "handed_on", "revoked"], {
      description:
        "none: nobody has claimed the action or reported an outcome; claimed: somebody is carrying it out; unknown: no outcome was reported " +
        `within ${limits.claim_unknown_after_seconds / 60} minutes of the claim; executed, failed, skipped: as reported; handed_on: an equal action got the approval; ` +
        "revoked: an operator or admin revoked the approval",
    }),
    at: nullable(timestamp("the time of this state; null: none")),
    by: nullable(Actor),
  },
  { title: "Execution" },
);
export type Execution = Static<typeof Execution>;

/** The decision record. `verdict` never changes. */
export const Decision = Type.Object(
  {
    decision_id: id("decision"),
    intent_id: id("intent"),
    membrane_id: id("membrane"),
    agent_id: text(limits.agent_id_chars_max),
    verdict: Verdict,
    risk_score: Type.Number({ minimum: 0, maximum: 1, description: "four decimals" }),
    risk_contributions: Type.Array(
      Type.Object({
        source: text(limits.label_chars_max),
        group: text(limits.label_chars_max),
        value: Type.Number({ minimum: 0, maximum: 1 }),
      }),
    ),
    pipeline_mode: PipelineMode,
    enforced: Type.Boolean({ description: "false in shadow mode: the agent may continue with every verdict" }),
    outcome: nullable(Outcome),
    status: oneOf(["pending", "final"], {
      description: "pending while a live escalation is open; then outcome is null",
    }),
    reasons: Type.Array(Reason, {
      description:
        "all reasons, strictest first; if there are too many, the last ones have no message, citations or unknown facts",
    }),
    modifications: Type.Array(Modification),
    modified_content: nullable(anyObject()),
    would_approve_if: nullable(
      Type.Array(ApprovalChange, {
        maxItems: 4,
        description:
          "the smallest set of at most three changes found under which a block or escalate would have been approved, and the time from which the " +
          "unchanged action would be approved; both verified by deciding again; null: nothing was found, or a policy hides it",
      }),
    ),
    human_override_id: nullable(id("override")),
    escalation_id: nullable(id("escalation")),
    escalation_status: nullable(EscalationStatus),
    message_to_agent: Type.Optional(MessageToAgent),
    approval_expires_at: Type.Optional(
      timestamp("the end of the approval by people; only on a decision that people approved"),
    ),
    resumed_from: Type.Optional(id("intent")),
    grant_id: Type.Optional(id("grant")),
    valid_until: nullable(timestamp("after this time facts of the decision are stale; null: no such time")),
    policy_set: Type.Object({
      version: Type.Integer({ minimum: 0 }),
      sha256: Type.String({ pattern: "^[0-9a-f]{64}$", maxLength: 64 }),
    }),
    claim: Type.Optional(
      oneOf(["required"], { description: "the submission requires a claim before the action is carried out" }),
    ),
    timestamp: timestamp(),
    execution: Type.Optional(Execution),
    erased: Type.Optional(Erased),
  },
  { title: "Decision" },
);
export type Decision = Static<typeof Decision>;

export const DecisionQuery = closed({
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: limits.decision_wait_seconds_max,
      description: "seconds to wait for the final outcome",
    }),
  ),
});
