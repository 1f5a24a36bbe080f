import { limits } from "../limits.ts";
import {
  CancelInput,
  Confirmation,
  ConfirmationInput,
  closed,
  Decision,
  Escalation,
  EscalationListQuery,
  givenId,
  listed,
  ReassignInput,
  ReviewCommentInput,
  ReviewerPace,
  RulingInput,
  SnoozeInput,
  TakeInput,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ escalation_id: givenId("prefix esc_") });
const one = { 200: { description: "The escalation.", schema: wrapped("escalation", Escalation) } } as const;
const body_bytes_max = limits.body_bytes_max;
const common = { tag: "Escalations", rate: "general" } as const;

export const escalationOperations = {
  listEscalations: {
    ...common,
    method: "GET",
    path: "/v1/escalations",
    summary: "List escalations",
    auth: ["reviewer", "auditor"],
    conditional: true,
    query: EscalationListQuery,
    answers: {
      200: {
        description: "Newest first, or in the requested order.",
        schema: listed("escalations", Escalation),
        headers: ["ETag"],
      },
    },
  },
  getEscalation: {
    ...common,
    method: "GET",
    path: "/v1/escalations/{escalation_id}",
    summary: "Read an escalation",
    auth: ["reviewer", "auditor"],
    conditional: true,
    params,
    answers: {
      200: { description: "The escalation.", schema: wrapped("escalation", Escalation), headers: ["ETag"] },
    },
  },
  decideEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/decision",
    summary: "Vote on an escalation",
    description:
      "One block closes the review. Each rule that holds the action needs approvals by the number of different people in its quorum, " +
      "from among its reviewers. Then the review closes. One approval counts for every rule that names the reviewer. Before a vote " +
      "approves the action, the service decides the action again under the current rules, stored facts and time. If a rule blocks the " +
      "action now, the vote is refused (`blocked_now`). If a further rule holds it now, that rule adds its reviewers. " +
      "An approval that is faster than the pace of a rule needs a typed reason in `comment`, or `second_person: true` (`reason_required`). " +
      "If a rule or the membrane asks for it, the vote carries a `confirmation` (`confirmation_required`).",
    auth: ["reviewer"],
    idempotent: true,
    params,
    body: RulingInput,
    body_bytes_max,
    answers: one,
    refuses: [
      "self_review",
      "escalation_closed",
      "state_conflict",
      "modified_action_blocked",
      "masked_value_changed",
      "blocked_now",
      "frozen",
      "reason_required",
      "confirmation_required",
      "confirmation_invalid",
    ],
  },
  beginConfirmation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/confirmation",
    summary: "Begin to confirm a vote with a passkey",
    description:
      "Returns the canonical ruling and options for the browser. The challenge is the SHA-256 of the ruling, so the passkey signs " +
      `the ruling. Send the answer as \`confirmation\` of the vote within ${limits.ruling_challenge_seconds / 60} minutes. ` +
      "It confirms one vote, of this session, for this outcome and content.",
    auth: "session",
    params,
    body: ConfirmationInput,
    body_bytes_max,
    answers: { 200: { description: "The ruling, and the options.", schema: Confirmation } },
    refuses: [
      "not_found",
      "forbidden",
      "self_review",
      "escalation_closed",
      "state_conflict",
      "modified_action_blocked",
      "masked_value_changed",
    ],
  },
  cancelEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/cancel",
    summary: "Cancel an escalation; its action stays blocked",
    auth: ["operator"],
    params,
    body: CancelInput,
    body_optional: true,
    body_bytes_max,
    answers: one,
    refuses: ["escalation_closed"],
  },
  withdrawEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/withdraw",
    summary: "Withdraw your own action from review; it stays blocked",
    description:
      "For the key that submitted the action, and its rotations. Other callers cancel the escalation if their role permits. " +
      "A repetition changes nothing and answers the same.",
    auth: "any",
    params,
    body: CancelInput,
    body_optional: true,
    body_bytes_max,
    answers: { 200: { description: "The current decision.", schema: wrapped("decision", Decision) } },
    refuses: ["escalation_closed"],
  },
  revokeApproval: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/revoke",
    summary: "Revoke an approval that nobody has claimed",
    description:
      'For an approved review of an action that was submitted with `claim: "required"`. After this answer nobody can claim the action, ' +
      "and no equal action gets the approval. A repetition changes nothing and answers the same.",
    auth: ["operator"],
    params,
    body: CancelInput,
    body_optional: true,
    body_bytes_max,
    answers: one,
    refuses: ["state_conflict", "already_claimed"],
  },
  reassignEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/reassign",
    summary: "Reassign an escalation to other reviewers",
    description:
      "The time limit and the votes stay. The new reviewers replace all earlier ones. Each must be able to decide: not a role below reviewer, " +
      "no revoked or expired key, and not the submitter. There must be enough people for the quorum.",
    auth: ["operator"],
    params,
    body: ReassignInput,
    body_bytes_max,
    answers: one,
    refuses: ["escalation_closed"],
  },
  takeEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/take",
    summary: "Take a review, or give it back",
    description: "Tells other reviewers who works on it. They may still decide it, and take it over.",
    auth: ["reviewer"],
    params,
    body: TakeInput,
    body_optional: true,
    body_bytes_max,
    answers: one,
    refuses: ["escalation_closed"],
  },
  commentOnEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/comment",
    summary: "Comment on a review without deciding it",
    description: "The audit trail keeps the comment (`commented`). Who snoozed the review sees it again.",
    auth: ["reviewer"],
    params,
    body: ReviewCommentInput,
    body_bytes_max,
    answers: one,
    refuses: ["escalation_closed"],
  },
  snoozeEscalation: {
    ...common,
    method: "POST",
    path: "/v1/escalations/{escalation_id}/snooze",
    summary: "Hide a review from your own queue until a time",
    description: "Only for the caller. The review appears again at the time, and as soon as anything about it changes.",
    auth: ["reviewer"],
    params,
    body: SnoozeInput,
    body_bytes_max,
    answers: one,
    refuses: ["escalation_closed"],
  },
  getReviewerPace: {
    ...common,
    method: "GET",
    path: "/v1/reviewers/pace",
    summary: "Read how fast reviewers rule and how much they approve",
    description:
      "Figures of the last 7 and 30 days. Admins see everybody, reviewers themselves. If the organization's `reviewer_figures` is `team`, " +
      "everybody sees only the totals.",
    auth: ["reviewer"],
    answers: { 200: { description: "The figures.", schema: wrapped("pace", ReviewerPace) } },
  },
} as const satisfies Record<string, Operation>;
