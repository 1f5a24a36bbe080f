import type { Decision, ObservationInput } from "@countersign/contract";

/**
 * Why an action should not have been carried out: the service blocked it, people still decide on it, its review was cancelled, or
 * whoever carried it out had to claim it first and did not.
 */
export type Contradiction = "blocked" | "pending" | "withdrawn" | "not_claimed";

/**
 * Returns why what the agent reports contradicts the decision; null: it does not. `claimed`: whoever reports claimed the action. An
 * action that failed or was left is no contradiction. In shadow mode nothing is held, so nothing can be contradicted.
 */
export function contradictionOf(
  {
    outcome,
    escalation_status,
    enforced,
    claim,
  }: Pick<Decision, "outcome" | "escalation_status" | "enforced" | "claim">,
  reported: ObservationInput["status"],
  claimed: boolean,
): Contradiction | null {
  if (reported !== "executed" || !enforced) return null;
  if (outcome === null) return "pending";
  if (outcome === "block") return escalation_status === "cancelled" ? "withdrawn" : "blocked";
  return claim === "required" && !claimed ? "not_claimed" : null;
}
