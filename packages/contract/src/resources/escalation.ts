import Type, { type Static } from "typebox";
import { limits } from "../limits.ts";
import { EscalationStatus, MessageToAgent, Modification, Outcome } from "./decision.ts";
import { Target } from "./intent.ts";
import { NamedReviewer, Pace, Reviewer } from "./membrane.ts";
import { closed, id, listQuery, nullable, oneOf, PipelineMode, plainText, text, timestamp } from "./shapes.ts";

const reviewedModification = closed({
  op: oneOf(["add", "remove", "replace"]),
  path: text(1_000),
  value: Type.Optional(Type.Unknown()),
});

/** Body of POST /v1/escalations/{escalation_id}/decision. `modifications` with approve_modified only. */
export const RulingInput = closed(
  {
    outcome: Outcome,
    comment: Type.Optional(text(limits.comment_chars_max, { description: "for people: no agent gets it" })),
    message_to_agent: Type.Optional(
      plainText(
        limits.comment_chars_max,
        "for the agent and its model: the final decision has it. Line ends and tabs are its only control characters",
      ),
    ),
    second_person: Type.Optional(
      Type.Boolean({
        description:
          "true: if the approval is faster than the pace of a rule and has no reason, it counts, and the rule's panel needs one more person",
      }),
    ),
    modifications: Type.Optional(
      Type.Array(reviewedModification, {
        maxItems: 100,
        description:
          "changes to payload.content. A change may give a value another JSON type only if a policy demands that type; a null " +
          "counts as missing",
      }),
    ),
  },
  { title: "RulingInput" },
);
export type RulingInput = Static<typeof RulingInput>;

/** Body of POST /v1/escalations/{escalation_id}/cancel, of /withdraw and of /revoke. */
export const CancelInput = closed({ reason: Type.Optional(text(limits.comment_chars_max)) }, { title: "CancelInput" });
export type CancelInput = Static<typeof CancelInput>;

/** Body of POST /v1/escalations/{escalation_id}/reassign. */
export const ReassignInput = closed(
  {
    reviewers: Type.Array(NamedReviewer, { minItems: 1, maxItems: limits.escalation_reviewers_max }),
    reason: Type.Optional(text(limits.comment_chars_max)),
  },
  { title: "ReassignInput" },
);
export type ReassignInput = Static<typeof ReassignInput>;

/** What one rule asks of a review. */
export const Panel = Type.Object(
  {
    source: oneOf(["policy", "membrane", "freeze", "reassignment"], {
      description:
        "whose demand it is: a policy's, the membrane's own, that of a freeze, or that of whoever reassigned the review",
    }),
    policy_id: nullable(
      text(limits.label_chars_max, {
        description: "null: no policy asks for it, or an earlier version opened the review",
      }),
    ),
    policy: text(limits.label_chars_max, {
      description: "the policy's name, or one for the membrane, the freeze or the reassignment",
    }),
    reviewers: Type.Array(Reviewer, { description: "whose approvals count for it; empty: any reviewer's" }),
    required: Type.Integer({ minimum: 1, description: "how many different people must approve" }),
    approvals: Type.Integer({ minimum: 0 }),
    approved_by: Type.Array(text(limits.label_chars_max), { description: "the people whose approvals count for it" }),
    missing: nullable(text(limits.comment_chars_max, { description: "who is missing, in words; null: nobody" })),
    after: nullable(
      text(limits.label_chars_max, { description: "the `policy` of the panel that goes first; null: none" }),
    ),
    tier: Type.Optional(
      Type.Object(
        { reviewers: Type.Array(Reviewer), opens_at: timestamp() },
        {
          description:
            "further reviewers who may meet this panel too, if it is not met by `opens_at`; then `reviewers` includes them. absent: none",
        },
      ),
    ),
    pace: Type.Optional(Pace),
    status: oneOf(["waiting", "open", "met"], { description: "waiting: its turn comes when the panel `after` is met" }),
  },
  { title: "Panel" },
);
export type Panel = Static<typeof Panel>;

/** How an approval was faster than the pace of a rule. */
export const FastVote = Type.Object(
  {
    because: Type.Array(oneOf(["too_soon", "too_many"]), {
      description: "too_soon: after the case was shown; too_many: within five minutes",
    }),
    shown_seconds: nullable(
      Type.Number({
        minimum: 0,
        description: "from the first time that the reviewer read the escalation; null: never read",
      }),
    ),
    approvals_in_five_minutes: Type.Integer({ minimum: 1, description: "of this reviewer, this one included" }),
    second_person: Type.Boolean({ description: "true: no reason was typed, so one more person must approve" }),
  },
  { title: "FastVote" },
);
export type FastVote = Static<typeof FastVote>;

/** An action that waits for people, or waited. Source: api.md §6. */
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
          "the fewest approvals that can meet what all rules demand. It grows if somebody approves whom the rules still open do not name",
      }),
      approvals: Type.Integer({ minimum: 0 }),
      rejections: Type.Integer({ minimum: 0 }),
    }),
    panels: Type.Array(Panel, {
      description: "what each rule asks for that holds the action. The review is approved when each panel is met",
    }),
    votes: Type.Array(
      Type.Object({
        reviewer: text(limits.label_chars_max),
        outcome: Outcome,
        comment: nullable(text(limits.comment_chars_max)),
        message_to_agent: Type.Optional(text(limits.comment_chars_max, { description: "absent: none" })),
        modifications: nullable(
          Type.Array(reviewedModification, {
            description: "what this reviewer changed; another one approves the same by sending it; null: nothing",
          }),
        ),
        party: Type.Optional(
          Type.Literal(true, {
            description:
              "the action is for this person: the approval counts only beside that of somebody else. Absent: it is not",
          }),
        ),
        in_place_of: Type.Optional(
          Type.Array(text(limits.label_chars_max), {
            description:
              "the absent people in whose place this vote counts. Absent: the vote counts as the reviewer's own only",
          }),
        ),
        lapsed: Type.Optional(
          Type.Object(
            {
              because: oneOf(["removed", "role_changed", "key_ended", "absence_ended"], {
                description:
                  "removed: the account was removed. role_changed: the role is too low by now. key_ended: no key of the person " +
                  "is valid. absence_ended: the vote was in place of somebody whose absence is over",
              }),
              panels: Type.Array(text(limits.label_chars_max), {
                description: "the `policy` of the panels for which the vote does not count any more",
              }),
            },
            { description: "this approval counted, and does not count now. Absent: it counts for all its panels" },
          ),
        ),
        fast: Type.Optional(FastVote),
        at: timestamp(),
      }),
      {
        description:
          "the votes so far. Approvals of a change of which policies let something else through by now end with the next " +
          "approval (`voided` in its audit row names whose); they may vote again",
      },
    ),
    self_reviewed: Type.Boolean({
      description:
        "true: somebody ruled on an action that the same person submitted. Only an organization in solo mode permits that",
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
        "what the end of its time does; approve only where membrane and policies let the action through then, too",
    }),
    created_at: timestamp(),
    expires_at: timestamp("a vote at or after this time loses"),
    closed_at: nullable(timestamp()),
    action: Type.Object({
      type: text(limits.action_type_chars_max),
      verb: text(limits.verb_chars_max),
      target: nullable(Target),
      summary: nullable(text(limits.summary_chars_max)),
    }),
    withdrawn_by: Type.Optional(
      text(limits.label_chars_max, {
        description:
          "only if the action was withdrawn: the key that did so, which submitted it or is a rotation of the one that did",
      }),
    ),
    nobody_waits: Type.Optional(
      oneOf(["key_revoked", "key_expired", "frozen"], {
        description:
          "while it is pending: why its submitter cannot hear the outcome, or, if `frozen`, why nobody can approve it: a freeze came " +
          "after it was opened. Absent: none of this",
      }),
    ),
    nobody_can_decide: Type.Optional(
      text(limits.comment_chars_max, {
        description:
          "for whoever reads this one escalation while it is pending: which panel too few people can approve, and what to do. " +
          "Absent: there are enough people",
      }),
    ),
    blocked_now: Type.Optional(
      Type.Array(
        Type.Object({
          policy: text(limits.label_chars_max, {
            description: "the policy's name, a name of the membrane's own, or `submitter`",
          }),
          message: text(limits.comment_chars_max),
        }),
        {
          description:
            "for reviewers who read this one escalation while it is pending: what would refuse an approval now; absent: nothing",
        },
      ),
    ),
    equal_pending: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: "in lists, while it is pending: how many of the same action by the same agent wait, it included",
      }),
    ),
  },
  { title: "Escalation" },
);
export type Escalation = Static<typeof Escalation>;

/** Filters of GET /v1/escalations. Without `mode`, escalations of test mode are left out. */
export const EscalationListQuery = listQuery({
  status: Type.Optional(EscalationStatus),
  agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: limits.agent_id_chars_max })),
  reviewer: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.label_chars_max,
      description: "who decides: the id of a person or key (any of its rotations), or `role:` and a role",
    }),
  ),
  mode: Type.Optional(PipelineMode),
  group: Type.Optional(
    oneOf(["equal"], { description: "of pending ones that are for the same action, only the newest" }),
  ),
  order: Type.Optional(
    oneOf(["expires_at"], { description: "those whose time ends first come first; with `status=pending` only" }),
  ),
});
