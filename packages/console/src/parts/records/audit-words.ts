import type { AuditRecord, AuditType, Decision } from "@countersign/contract";
import { verdictWord } from "./badge.tsx";

const auditWords: Partial<Record<AuditType, string>> = {
  submitted: "Submitted by the agent",
  decided: "Decided",
  escalated: "Waits for review",
  voted: "A reviewer voted",
  commented: "A reviewer commented",
  review_taken: "A reviewer took the review, or gave it back",
  reassigned: "Reassigned to other reviewers",
  reviewed: "Decided by review",
  timed_out: "Timed out",
  cancelled: "Review cancelled",
  overridden: "Approved by a person",
  override_spent: "Passed by an override",
  override_revoked: "Override withdrawn",
  granted: "Similar actions allowed in advance",
  grant_used: "Approved by a grant",
  grant_revoked: "Grant revoked",
  delivered: "Webhook delivered",
  delivery_failed: "Webhook failed three times",
  delivery_retried: "Webhook sent again by hand",
  joined: "Waits for the review of an equal action",
  resumed: "Uses the approval of an equal action",
  approval_handed_on: "Approval passed on to an equal action",
  approval_revoked: "Approval revoked",
  claimed: "Claimed for execution",
  observed: "The agent reported",
  contradicted: "Executed although not allowed",
};

export function auditWord(type: AuditType): string {
  const words = auditWords[type] ?? type.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Returns the result of a row in words. `Subject` names what the row is about. */
export function auditNote({ type, data }: Pick<AuditRecord, "type" | "data">): string | null {
  const text = (name: string) => (typeof data[name] === "string" && data[name] !== "" ? data[name] : null);
  const joined = (by: string, ...parts: readonly (string | null)[]) =>
    parts.filter((part) => part !== null).join(by) || null;
  switch (type) {
    case "decided":
    case "reviewed":
    case "voted": {
      const verdict = text("verdict") ?? text("outcome");
      const own = data["self_reviewed"] === true ? "self-reviewed" : null;
      const where = data["via"] === "slack" ? "in Slack" : null;
      const said = verdict === null ? null : verdictWord(verdict as Decision["verdict"]);
      return joined(": ", own, where, said, text("comment"));
    }
    case "delivered":
    case "delivery_failed":
    case "delivery_retried":
      return joined(": ", text("event_type"), text("error"));
    case "content_erased": {
      const count = Array.isArray(data["intents"]) ? data["intents"].length : 0;
      return count === 0 ? null : `${count} ${count === 1 ? "decision" : "decisions"}`;
    }
    case "policy_saved":
    case "policy_activated": {
      const version = typeof data["version"] === "number" ? `version ${data["version"]}` : null;
      return joined(", ", version, text("mode"));
    }
    case "user_name_changed":
      return joined(" to ", text("from") ?? "no name", text("to") ?? "no name");
    case "contradicted":
      return text("because");
    default:
      return text("role") ?? text("reason") ?? text("comment") ?? text("status");
  }
}
