import type { Decision, ObservationInput } from "@countersign/contract";
import { isReached } from "../time.ts";

/**
 * Why an action should not have been executed. "not_claimed": the action had to be claimed first. "expired": the
 * approval had expired.
 */
export type Contradiction = "blocked" | "pending" | "withdrawn" | "not_claimed" | "expired";

/**
 * Returns why a report contradicts the decision, or null. `claimed`: the reporter claimed the action. `at`: time of the
 * report, RFC 3339. Failed or abandoned actions never contradict. In shadow mode nothing does, because nothing is held.
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
