import type { AccessEvaluation } from "@countersign/contract";
import { expect, test } from "vitest";
import { authzenIdentity, authzenSubmission, namedApproval, obeysObligations, withDefaults } from "./submission.ts";

const evaluation: AccessEvaluation = {
  subject: { type: "user", id: "alice" },
  action: { name: "read" },
  resource: { type: "record", id: "r" },
};
const contextOf = (context: Record<string, unknown>) =>
  authzenSubmission({ ...evaluation, context }, undefined).context;

test("missing properties are empty, so that rules can read them", () => {
  const { payload } = authzenSubmission(evaluation, undefined).intent;
  expect(payload?.content).toEqual({
    authzen: { subject: { type: "user", properties: {} }, resource: { type: "record", id: "r", properties: {} } },
  });
});

test("the context becomes facts: its `facts` by category, all others as one", () => {
  expect(authzenSubmission(evaluation, undefined)).not.toHaveProperty("context");
  expect(contextOf({ approval: { id: "ovr_1" }, capabilities: [] })).toBeUndefined();
  const facts = { environmental: { ai_voice_detected: false }, security: { siem_ref: "s" } };
  expect(contextOf({ facts })).toEqual({ contract_version: "1", facts });
  expect(contextOf({ facts, "a b": 1 })).toEqual({
    contract_version: "1",
    facts: { ...facts, environmental: { ai_voice_detected: false, request_context: { "a b": 1 } } },
  });
});

test("facts of another form reach the check of the submission unchanged", () => {
  for (const facts of [7, [], null, { environmental: 7 }, { environmental: [1] }])
    expect(contextOf({ facts, ip: "x" })).toEqual({ contract_version: "1", facts });
});

test("identical evaluations have one identity, and each defined member makes another one", () => {
  const identity = authzenIdentity(evaluation, undefined);
  const same = { ...evaluation, more: 1, resource: { id: "r", x: 1, type: "record", properties: {} }, context: {} };
  expect(authzenIdentity(same, undefined)).toBe(identity);
  const { subject, action, resource } = evaluation;
  const others = [
    { ...evaluation, subject: { ...subject, type: "service" } },
    { ...evaluation, subject: { ...subject, properties: { a: 1 } } },
    { ...evaluation, action: { ...action, properties: { a: 1 } } },
    { ...evaluation, resource: { ...resource, id: "s" } },
    { ...evaluation, context: { a: 1 } },
  ].map((each) => authzenIdentity(each, undefined));
  expect(new Set([identity, authzenIdentity(evaluation, "mem_1"), ...others]).size).toBe(7);
});

test("an approval and obligations must be declared in their exact form", () => {
  const with_context = (context: Record<string, unknown>) => ({ ...evaluation, context });
  expect(namedApproval(with_context({ approval: { id: "esc_1" } }))).toBe("esc_1");
  for (const approval of [undefined, "esc_1", { id: 1 }, ["esc_1"], null])
    expect(namedApproval(with_context({ approval }))).toBeNull();
  expect(obeysObligations(with_context({ capabilities: ["x", "obligations"] }))).toBe(true);
  for (const capabilities of [undefined, "obligations", { obligations: true }, ["Obligations"]])
    expect(obeysObligations(with_context({ capabilities }))).toBe(false);
});

test("a member of an evaluation replaces the whole default", () => {
  const { subject, action } = evaluation;
  const request = { subject: { ...subject, properties: { role: "admin" } }, action, evaluations: [] };
  expect(withDefaults(request, { subject, resource: evaluation.resource })).toEqual(evaluation);
  expect(withDefaults(request, {})).toEqual({ subject: request.subject, action });
  expect(withDefaults(request, "text")).toBe("text");
});
