import { expect, test } from "vitest";
import { auditNote } from "./audit-words.ts";

test("says the result of a row, and leaves the name of its subject to the link beside it", () => {
  const policy = { policy_id: "pol_1", name: "large-refunds", version: 3, sha256: "ab" };
  expect(auditNote({ type: "policy_saved", data: policy })).toBe("version 3");
  expect(auditNote({ type: "policy_activated", data: { ...policy, mode: "shadow" } })).toBe("version 3, shadow");
  const key = { key_id: "key_1", name: "refund bot" };
  expect(auditNote({ type: "key_created", data: { ...key, role: "agent" } })).toBe("agent");
  expect(auditNote({ type: "key_revoked", data: key })).toBe(null);
  expect(auditNote({ type: "user_name_changed", data: { from: null, to: "Bob" } })).toBe("no name to Bob");
  expect(auditNote({ type: "user_invited", data: { email: "bob@example.com", role: "reviewer" } })).toBe("reviewer");
  const delivery = { event_type: "decision.blocked", attempts: 3 };
  expect(auditNote({ type: "delivered", data: { ...delivery, error: null } })).toBe("decision.blocked");
  expect(auditNote({ type: "delivery_failed", data: { ...delivery, error: "No answer." } })).toBe(
    "decision.blocked: No answer.",
  );
});

test("describes a ruling by its outcome and comment, and adds no note to a row without words", () => {
  expect(auditNote({ type: "voted", data: { outcome: "block", comment: "twice" } })).toBe("blocked: twice");
  expect(auditNote({ type: "decided", data: { verdict: "approve" } })).toBe("approved");
  expect(auditNote({ type: "overridden", data: { reason: "the auditors asked", status: "active" } })).toBe(
    "the auditors asked",
  );
  expect(auditNote({ type: "session_began", data: { session_id: "ses_1" } })).toBe(null);
  expect(auditNote({ type: "key_created", data: { name: null, role: "agent" } })).toBe("agent");
});
