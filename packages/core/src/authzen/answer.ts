/** Translates a decision into the answer of AuthZEN. */
import { type AccessDecision, type AccessEvaluation, type Decision, errorCodes } from "@countersign/contract";
import type { Fault } from "../fault.ts";
import { at, isRecord } from "../functions/text.ts";
import { authzen_content, obeysObligations } from "./submission.ts";

/** The parts of a decision that the answer shows. Without intent_id: nothing was recorded. */
export type AuthzenVerdict = Pick<Decision, "verdict" | "outcome" | "enforced" | "reasons" | "modified_content"> &
  Partial<
    Pick<Decision, "intent_id" | "escalation_id" | "escalation_status" | "message_to_agent" | "approval_expires_at">
  >;

type Context = NonNullable<AccessDecision["context"]>;
type Obligation = NonNullable<Context["obligation"]>;

/** Returns the answer. A changed action is `true` only for a caller that carries out obligations. */
export function authzenDecision(evaluation: AccessEvaluation, made: AuthzenVerdict): AccessDecision {
  const { outcome, modified_content } = made;
  const obligation =
    outcome === "approve_modified" && modified_content !== null ? obligationOf(evaluation, modified_content) : null;
  const may_run = outcome === "approve" || (obligation !== null && obeysObligations(evaluation));
  return { decision: may_run, context: contextOf(made, obligation) };
}

function contextOf(made: AuthzenVerdict, obligation: Obligation | null): Context {
  const { intent_id, verdict, enforced, escalation_id, escalation_status, message_to_agent, approval_expires_at } =
    made;
  const reasons = made.reasons.filter(({ effect }) => effect !== "none");
  const has_review = typeof escalation_id === "string" && typeof escalation_status === "string";
  return {
    ...(intent_id !== undefined && { intent_id }),
    verdict,
    enforced,
    reasons: reasons.map(({ policy, message }) => ({ policy, message })),
    ...(has_review && { review: { id: escalation_id, status: escalation_status } }),
    ...(obligation !== null && { obligation }),
    ...(message_to_agent !== undefined && { message_to_agent }),
    ...(approval_expires_at !== undefined && { approval_expires_at }),
  };
}

/** Null: a policy changed the type or the id of the resource or the subject, which the answer cannot express. */
function obligationOf(
  { subject, action, resource }: AccessEvaluation,
  { [authzen_content]: access, ...parameters }: Readonly<Record<string, unknown>>,
): Obligation | null {
  const is_same =
    at(access, "subject", "type") === subject.type &&
    at(access, "resource", "type") === resource.type &&
    at(access, "resource", "id") === resource.id;
  const of_subject = at(access, "subject", "properties");
  const of_resource = at(access, "resource", "properties");
  if (!is_same || !isRecord(of_subject) || !isRecord(of_resource)) return null;
  return {
    subject: { type: subject.type, id: subject.id, properties: of_subject },
    action: { name: action.name, properties: parameters },
    resource: { type: resource.type, id: resource.id, properties: of_resource },
  };
}

/** Returns the answer for an evaluation of a list that cannot be decided. */
export function authzenError({ code, details }: Fault): AccessDecision {
  const { status, meaning, advice } = errorCodes[code];
  return {
    decision: false,
    context: {
      error: { status, code, message: `${meaning} ${advice}`, details: details.map((each) => ({ ...each })) },
    },
  };
}
