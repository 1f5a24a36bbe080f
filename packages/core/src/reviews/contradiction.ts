import type { Decision, ObservationInput } from "@countersign/contract";

/** Why an action should not have been carried out: the service blocked it, people still decide on it, or its review was cancelled. */
export type Contradiction = "blocked" | "pending" | "withdrawn";

/**
 * Returns why what the agent reports contradicts the decision; null: it does not. An action that failed or was left is no
 * contradiction. In shadow mode nothing is held, so nothing can be contradicted.
 */
export function contradictionOf(
  { outcome, escalation_status }: Pick<Decision, "outcome" | "escalation_status">,
  reported: ObservationInput["status"],
): Contradiction | null {
  if (reported !== "executed") return null;
  if (outcome === null) return "pending";
  if (outcome !== "block") return null;
  return escalation_status === "cancelled" ? "withdrawn" : "blocked";
}
