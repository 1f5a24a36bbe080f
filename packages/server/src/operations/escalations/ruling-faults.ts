import {
  type FastApproval,
  Fault,
  faultAt,
  type MeasuredVote,
  missingText,
  type RulingRefusal,
  type StepRefusal,
} from "@countersign/core";
import type { UnmetDemand } from "../people/reviewers.ts";

/** Faults: invalid_request, masked_value_changed, modified_action_blocked naming the policies, state_conflict. */
export function rulingFault(refusal: RulingRefusal): Fault {
  switch (refusal.because) {
    case "modifications_unexpected":
      return invalid("/modifications", "Modifications are allowed only with the outcome approve_modified.");
    case "modifications_missing":
      return invalid("/modifications", "Send modifications, because no policy modifies the action.");
    case "value_missing":
      return invalid(`/modifications/${refusal.index}/value`, `${refusal.op} needs a value.`);
    case "cannot_apply":
      return invalid(`/modifications/${refusal.index}`, `It cannot be applied: ${refusal.message}.`);
    case "mask_changed": {
      const message =
        "The change has a mask that differs from the one that was shown. Leave it unchanged to keep the value, or write another value.";
      const path = `/modifications/${refusal.index}`;
      return new Fault("masked_value_changed", { details: [{ path, code: "not_allowed", message }] });
    }
    case "type_changed":
      return invalid(
        "/modifications",
        `The change makes ${refusal.path} a value of the type ${refusal.type}. Keep the type that the value has, or use the one that a policy demands.`,
      );
    case "policies_do_not_apply":
      return invalid("/modifications", "What policies modify cannot be applied to the modified action.");
    case "blocked":
      return new Fault("modified_action_blocked", { details: refusal.policies.map(blockedBy) });
    case "text_unseen":
      return conflict(
        "The change contains a redacted text that you have not seen. Send the full change to approve it, or decide block.",
      );
    default:
      return refusal satisfies never;
  }
}

/**
 * Policies overtook the change that the record shows, so the reviewer must send the full change again. Faults:
 * state_conflict.
 */
export function overtakenFault(): Fault {
  return conflict(
    "Policies changed since the first approval, so the redacted change no longer shows what would be executed. Send the full change again, or approve something else.",
  );
}

/** The review does not meet the demands of policies that hold the changed action. `required`: the review's quorum. */
export function unmetDemandsFault(unmet: readonly UnmetDemand[], required: number): Fault {
  const details = unmet.map(({ policy, quorum, few }) =>
    blockedBy({
      policy,
      message: few
        ? `The policy ${policy} asks for ${quorum} approvals of the modified action; this review takes ${required}.`
        : `The policy ${policy} holds the modified action for other reviewers.`,
    }),
  );
  return new Fault("modified_action_blocked", { details });
}

/** The approval is faster than a rule's pace and has no reason. Faults: reason_required. */
export function tooFastFault(
  { pace, because }: FastApproval,
  { shown_seconds, approvals_in_five_minutes }: MeasuredVote,
): Fault {
  const shown =
    shown_seconds === null
      ? "You have not read this escalation (GET /v1/escalations/{escalation_id})"
      : `You read this escalation first ${shown_seconds.toFixed(1)} s ago`;
  const said = {
    too_soon: `${shown}; an approval within ${pace.min_seconds} s needs a reason.`,
    too_many: `This would be your approval number ${approvals_in_five_minutes} within five minutes; from number ${pace.reason_from} on, each needs a reason.`,
  };
  const todo = "Write it in `comment`, or send `second_person: true` to ask for one more person.";
  const details = because.map((code) => ({ path: "/comment", code, message: `${said[code]} ${todo}` }));
  return new Fault("reason_required", { details });
}

/** Faults: escalation_closed, state_conflict (others approved something else, or it is not the reviewer's turn). */
export function stepFault(refusal: StepRefusal): Fault {
  if (refusal.because === "before_turn") {
    const missing = missingText(refusal.after) ?? "its own turn";
    const message =
      `Your turn has not come: the reviewers of ${refusal.after.policy} approve first. Missing there: ${missing}. ` +
      "Approve after that, or decide block now.";
    return faultAt("state_conflict", "/outcome", "before_turn", message);
  }
  if (refusal.because !== "disagrees") return new Fault("escalation_closed");
  return conflict("Other reviewers approved the action with other modifications; approve the same, or decide block.");
}

function blockedBy({ policy, message }: { readonly policy: string; readonly message: string }) {
  return { path: "/modifications", code: "not_allowed", policy, message };
}

function invalid(path: string, message: string): Fault {
  return faultAt("invalid_request", path, "not_allowed", message);
}

function conflict(message: string): Fault {
  return faultAt("state_conflict", "/modifications", "not_allowed", message);
}
