import type { Decision, ObservationInput } from "@countersign/contract";
import { isReached } from "../time.ts";

/** "not_claimed": the action had to be claimed first. "expired": the approval had expired. */
export type Contradiction = "blocked" | "pending" | "withdrawn" | "not_claimed" | "expired";

/**
 * Returns null without a contradiction. Failed or abandoned actions never contradict, and nothing does in shadow mode.
 * `claimed`: by the reporter. `at`: time of the report, RFC 3339.
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
