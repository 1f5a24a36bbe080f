import Type, { type Static } from "typebox";
import { limits } from "../../limits.ts";
import { EscalationStatus, MessageToAgent, Modification, Outcome } from "../decision.ts";
import { Target } from "../intent.ts";
import { Confirm, confirmKinds, NamedReviewer, Pace, Reviewer } from "../membranes/membrane.ts";
import { Erased } from "../records/erased.ts";
import { closed, id, listQuery, nullable, oneOf, PipelineMode, text, timeInput, timestamp } from "../shapes.ts";
import { reviewedModification } from "./ruling.ts";

/** Body of /cancel, /withdraw and /revoke. */
export const CancelInput = closed({ reason: Type.Optional(text(limits.comment_chars_max)) }, { title: "CancelInput" });
export type CancelInput = Static<typeof CancelInput>;

export const ReassignInput = closed(
  {
    reviewers: Type.Array(NamedReviewer, { minItems: 1, maxItems: limits.escalation_reviewers_max }),
    reason: Type.Optional(text(limits.comment_chars_max)),
  },
  { title: "ReassignInput" },
);
export type ReassignInput = Static<typeof ReassignInput>;

export const Panel = Type.Object(
  {
    source: oneOf(["policy", "membrane", "freeze", "reassignment"], {
      description: "the source of the demand: a policy, the membrane, a freeze, or a reassignment",
    }),
    policy_id: nullable(
      text(limits.label_chars_max, {
        description: "null: the source is no policy, or an earlier version of the service opened the review",
      }),
    ),
    policy: text(limits.label_chars_max, {
      description: "the policy's name, or a name for the membrane, the freeze or the reassignment",
    }),
    reviewers: Type.Array(Reviewer, { description: "people whose approvals count; empty: any reviewer" }),
    required: Type.Integer({ minimum: 1, description: "how many different people must approve" }),
    approvals: Type.Integer({ minimum: 0 }),
    approved_by: Type.Array(text(limits.label_chars_max), {
      description: "the people whose approvals count for the panel",
    }),
    missing: nullable(text(limits.comment_chars_max, { description: "the missing people, in words; null: none" })),
    after: nullable(
      text(limits.label_chars_max, { description: "the `policy` of the panel that goes first; null: none" }),
    ),
    tier: Type.Optional(
      Type.Object(
        { reviewers: Type.Array(Reviewer), opens_at: timestamp() },
        {
          description:
            "further reviewers, if the panel is not met by `opens_at`; then `reviewers` includes them. Absent: none",
        },
      ),
    ),
    pace: Type.Optional(Pace),
    confirm: Type.Optional(Confirm),
    status: oneOf(["waiting", "open", "met"], { description: "waiting: the panel `after` must be met first" }),
  },
  { title: "Panel" },
);
export type Panel = Static<typeof Panel>;

/** How far an approval exceeded the pace of a rule. */
export const FastVote = Type.Object(
  {
    because: Type.Array(oneOf(["too_soon", "too_many"]), {
      description: "too_soon: after the case was shown; too_many: within five minutes",
    }),
    shown_seconds: nullable(
      Type.Number({
        minimum: 0,
        description: "since the reviewer first read the escalation; null: never read",
      }),
    ),
    approvals_in_five_minutes: Type.Integer({ minimum: 1, description: "of this reviewer, this one included" }),
    second_person: Type.Boolean({ description: "true: the reviewer typed no reason, so one more person must approve" }),
  },
  { title: "FastVote" },
);
export type FastVote = Static<typeof FastVote>;

export const Escalation = Type.Object(
  {
    escalation_id: id("escalation"),
    intent_id: id("intent"),
    decision_id: id("decision"),
    membrane_id: id("membrane"),
    agent_id: text(limits.agent_id_chars_max),
    pipeline_mode: PipelineMode,
    status: EscalationStatus,
    reason: text(limits.comment_chars_max),
    risk_score: Type.Number({ minimum: 0, maximum: 1 }),
    reviewers: Type.Array(Reviewer, { description: "who may vote; empty: any reviewer" }),
    quorum: Type.Object({
      required: Type.Integer({
        minimum: 1,
        description:
          "the fewest approvals that can meet all demands. The number grows if the approver does not meet the open demands",
      }),
      approvals: Type.Integer({ minimum: 0 }),
      rejections: Type.Integer({ minimum: 0 }),
    }),
    panels: Type.Array(Panel, {
      description: "the demands of the rules that hold the action. The review approves when each panel is met",
    }),
    votes: Type.Array(
      Type.Object({
        reviewer: text(limits.label_chars_max),
        outcome: Outcome,
        comment: nullable(text(limits.comment_chars_max)),
        message_to_agent: Type.Optional(text(limits.comment_chars_max, { description: "absent: none" })),
        modifications: nullable(
          Type.Array(reviewedModification, {
            description: "the changes of this reviewer; another reviewer approves the same by sending them; null: none",
          }),
        ),
        party: Type.Optional(
          Type.Literal(true, {
            description:
              "the action is for this person, so the approval counts only together with another person's. Absent: another case",
          }),
        ),
        in_place_of: Type.Optional(
          Type.Array(text(limits.label_chars_max), {
            description: "the absent people whom this vote represents. Absent: none",
          }),
        ),
        lapsed: Type.Optional(
          Type.Object(
            {
              because: oneOf(["removed", "role_changed", "key_ended", "absence_ended"], {
                description:
                  "removed: the account was removed. role_changed: the role is now too low. key_ended: no key of the person " +
                  "is valid. absence_ended: the absence of the represented person is over",
              }),
              panels: Type.Array(text(limits.label_chars_max), {
                description: "the `policy` of the panels for which the vote no longer counts",
              }),
            },
            { description: "this approval no longer counts. Absent: it counts for all its panels" },
          ),
        ),
        fast: Type.Optional(FastVote),
        confirmed: Type.Optional(
          oneOf(confirmKinds, { description: "how the person confirmed the vote. Absent: without a confirmation" }),
        ),
        at: timestamp(),
      }),
      {
        description:
          "the votes so far. If current policies alter an approved change, its approvals end with the next " +
          "approval (`voided` in its audit row names whose); they may vote again",
      },
    ),
    self_reviewed: Type.Boolean({
      description: "true: the person who submitted the action also ruled on it, which only solo mode permits",
    }),
    resolution: nullable(
      Type.Object({
        outcome: Outcome,
        by: nullable(text(limits.label_chars_max, { description: "null: the time limit" })),
        comment: nullable(text(limits.comment_chars_max)),
        message_to_agent: Type.Optional(MessageToAgent),
        modifications: Type.Array(Modification),
        at: timestamp(),
      }),
    ),
    on_timeout: oneOf(["block", "approve"], {
      description:
        "the result of the time limit; approve applies only if membrane and policies permit the action at that time",
    }),
    created_at: timestamp(),
    expires_at: timestamp("votes at or after this time are refused"),
    closed_at: nullable(timestamp()),
    action: Type.Object({
      type: text(limits.action_type_chars_max),
      verb: text(limits.verb_chars_max),
      target: nullable(Target),
      summary: nullable(text(limits.summary_chars_max)),
    }),
    amount_usd: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          "the amount at stake: the agent's own figure (`estimated_impact.financial_exposure_usd`), or a larger parameter with a name " +
          "that ends in `_usd` and that people may see. Absent: neither, or an earlier version opened the review",
      }),
    ),
    missing_facts: Type.Optional(
      Type.Array(text(256), {
        maxItems: limits.missing_facts_max,
        description:
          "the facts for which alone the review waits: without them no rule holds the action. Absent: there are other reasons",
      }),
    ),
    uncovered: Type.Optional(
      Type.Literal(true, {
        description: "no rule approves the tool, so the membrane's default verdict holds it. Absent: a rule holds it",
      }),
    ),
    taken: Type.Optional(
      Type.Object(
        { by: text(limits.label_chars_max), at: timestamp() },
        { description: "the person who works on the pending review. Others may still decide. Absent: nobody" },
      ),
    ),
    comments: Type.Optional(
      Type.Array(
        Type.Object({ by: text(limits.label_chars_max), comment: text(limits.comment_chars_max), at: timestamp() }),
        {
          maxItems: limits.review_comments_max,
          description:
            "only when this escalation is read alone: what people wrote without a ruling, oldest first. Absent: none",
        },
      ),
    ),
    snoozed_until: Type.Optional(
      timestamp(
        "only when this escalation is read alone: the caller does not want to see it before. Absent: not snoozed",
      ),
    ),
    erased: Type.Optional(Erased),
    withdrawn_by: Type.Optional(
      text(limits.label_chars_max, {
        description:
          "the key that withdrew the action: the submitting key or one of its rotations. Absent: not withdrawn",
      }),
    ),
    nobody_waits: Type.Optional(
      oneOf(["key_revoked", "key_expired", "frozen"], {
        description:
          "while the review is pending: why the submitter cannot get the outcome, or, if `frozen`, why nobody can approve: a freeze came " +
          "after the review opened. Absent: none of these",
      }),
    ),
    nobody_can_decide: Type.Optional(
      text(limits.comment_chars_max, {
        description:
          "only when this escalation is read alone while it is pending: which panel has too few people, and what to do. " +
          "Absent: there are enough people",
      }),
    ),
    blocked_now: Type.Optional(
      Type.Array(
        Type.Object({
          policy: text(limits.label_chars_max, {
            description: "the policy's name, a name for the membrane, or `submitter`",
          }),
          message: text(limits.comment_chars_max),
        }),
        {
          description:
            "only for reviewers who read this escalation alone while it is pending: causes that would refuse an approval now. Absent: none",
        },
      ),
    ),
    equal_pending: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "in lists, while pending: how many equal actions of the agent wait, this one included",
      }),
    ),
  },
  { title: "Escalation" },
);
export type Escalation = Static<typeof Escalation>;

/** Body of /take. */
export const TakeInput = closed(
  { taken: Type.Optional(Type.Boolean({ description: "false: give the review back. Default: true" })) },
  { title: "TakeInput" },
);
export type TakeInput = Static<typeof TakeInput>;

/** Body of /comment. */
export const ReviewCommentInput = closed(
  { comment: text(limits.comment_chars_max, { description: "for people; agents do not see it" }) },
  { title: "ReviewCommentInput" },
);
export type ReviewCommentInput = Static<typeof ReviewCommentInput>;

/** Body of /snooze. */
export const SnoozeInput = closed(
  {
    until: nullable(
      timeInput(`in the future, at most ${limits.snooze_days_max} days; null: show the review again at once`),
    ),
  },
  { title: "SnoozeInput" },
);
export type SnoozeInput = Static<typeof SnoozeInput>;

export const escalationOrders = ["expires_at", "created_at", "amount_usd", "rule", "tool", "agent_id"] as const;

/** Without `mode`, escalations of test mode are excluded. */
export const EscalationListQuery = listQuery({
  status: Type.Optional(EscalationStatus),
  agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max })),
  reviewer: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.label_chars_max,
      description: "a reviewer: the id of a person or key (any of its rotations), or `role:` and a role",
    }),
  ),
  mode: Type.Optional(PipelineMode),
  group: Type.Optional(oneOf(["equal"], { description: "only the newest of pending escalations for equal actions" })),
  rule: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.label_chars_max,
      description: "name or id of a policy that holds the action",
    }),
  ),
  tool: Type.Optional(Type.String({ minLength: 1, maxLength: limits.verb_chars_max, description: "`action.verb`" })),
  amount_usd_min: Type.Optional(
    Type.Number({ minimum: 0, description: "`amount_usd` at least; without an amount excluded" }),
  ),
  amount_usd_max: Type.Optional(
    Type.Number({ minimum: 0, description: "`amount_usd` at most; without an amount excluded" }),
  ),
  from: Type.Optional(timeInput("opened at or after")),
  to: Type.Optional(timeInput("opened before")),
  missing_fact: Type.Optional(
    text(256, { description: "a fact for which alone the review waits, such as `facts.identity.account_status`" }),
  ),
  uncovered: Type.Optional(oneOf(["true"], { description: "only reviews of tools that no rule covers" })),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.summary_chars_max,
      description: "a text in the agent, tool, first rule, target, summary or reason, in any case",
    }),
  ),
  mine: Type.Optional(
    oneOf(["only"], { description: "only the reviews that the caller took, or that name the caller as a reviewer" }),
  ),
  snoozed: Type.Optional(
    oneOf(["exclude", "only"], { description: "without, or only, the reviews that the caller snoozed. Absent: all" }),
  ),
  order: Type.Optional(
    oneOf(escalationOrders, {
      description:
        "only with `status=pending`. expires_at: earliest end first; created_at: oldest first; amount_usd: largest first; rule " +
        "(the first one), tool, agent_id: by name",
    }),
  ),
});
