import type { Decision, ObservationInput } from "@countersign/contract";
import { isReached } from "../time.ts";

/**
 * Why an action should not have been carried out: the service blocked it, people still decide on it, its review was cancelled, or
 * whoever carried it out had to claim it first and did not, or the approval by people had expired.
 */
export type Contradiction = "blocked" | "pending" | "withdrawn" | "not_claimed" | "expired";

/**
 * Returns why what the agent reports contradicts the decision; null: it does not. `claimed`: whoever reports claimed the action. `at`:
 * when it is reported, RFC 3339. An action that failed or was left is no contradiction. In shadow mode nothing is held, so nothing can be contradicted.
 */
export function contradictionOf(
  {
    outcome,
    escalation_status,
    enforced,
    claim,
    approval_expires_at,
  }: Pick<Decision, "outcome" | "escalation_status" | "enforced" | "claim" | "approval_expires_at">,
  reported: ObservationInput["status"],
  claimed: boolean,
  at: string,
): Contradiction | null {
  if (reported !== "executed" || !enforced) return null;
  if (outcome === null) return "pending";
  if (outcome === "block") return escalation_status === "cancelled" ? "withdrawn" : "blocked";
  if (claim === "required" && !claimed) return "not_claimed";
  return approval_expires_at !== undefined && isReached(approval_expires_at, at) ? "expired" : null;
}
