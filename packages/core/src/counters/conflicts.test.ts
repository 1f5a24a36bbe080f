import { expect, test } from "vitest";
import type { PolicyDocument } from "../policy/document.ts";
import { counterConflict } from "./conflicts.ts";

const policy = (name: string, spec: Partial<PolicyDocument["spec"]>): PolicyDocument =>
  ({
    apiVersion: "countersign/v1",
    kind: "Policy",
    metadata: { name },
    spec: { effect: "block", when: "true", ...spec },
  }) as PolicyDocument;
const spent = { name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" };
const secret = { name: "secret", match: { verbs: ["read_secret"] }, key: ["agent.id"], within: "10m" };
const other = policy("other", { counters: [spent], after: [secret] });

test.each([
  ["key", { ...spent, key: ["agent.id", "params.to"] }],
  ["value", { ...spent, value: "params.usd" }],
  ["window", { ...spent, window: "12h" }],
  ["window", { ...spent, window: { calendar: "day" as const } }],
  ["counts", { ...spent, counts: ["approve" as const] }],
  ["negative", { ...spent, negative: true }],
])("names the policy and the %s that differs", (member, counter) => {
  const conflict = counterConflict(policy("own", { counters: [{ ...spent, name: "paid" }, counter] }), [other]);
  expect(conflict?.path).toBe(`/spec/counters/1/${member}`);
  expect(conflict?.message).toContain(`The policy other defines count.spent with another ${member}: `);
});

test.each([
  ["match", { ...secret, match: { verbs: ["read_key"] } }],
  ["within", { ...secret, within: "5m" }],
])("an earlier action has the same %s in all policies", (member, after) => {
  const conflict = counterConflict(policy("own", { after: [after] }), [other]);
  expect(conflict?.path).toBe(`/spec/after/0/${member}`);
});

test("equal definitions, other names and other ways to write the same are no conflict", () => {
  const same = { ...spent, window: "1d", counts: ["pending" as const, "executed" as const], negative: false };
  const own = policy("own", {
    match: { verbs: ["pay"] },
    counters: [same, { ...spent, name: "secret", window: "1h" }],
    after: [{ ...secret, match: { verbs: ["READ_secret"] } }],
  });
  expect(counterConflict(own, [other, policy("none", {})])).toBeNull();
});
