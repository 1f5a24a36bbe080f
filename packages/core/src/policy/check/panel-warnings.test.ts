import { expect, test } from "vitest";
import { orderWarning, reachWarning } from "./panel-warnings.ts";

const policy = (name: string, after?: string) => ({
  metadata: { name },
  spec: { effect: "escalate" as const, ...(after === undefined ? {} : { escalation: { after } }) },
});

test("warns if the policy that must approve first is not in force", () => {
  expect(orderWarning(policy("a", "b"), [policy("c")])).toMatchObject({
    path: "/spec/escalation/after",
    message: "No policy in force has the name b, so nothing waits for its reviewers.",
  });
  expect(orderWarning(policy("a", "b"), [policy("b", "c"), policy("c")])).toBeNull();
  expect([orderWarning(policy("a", "membrane.escalation"), []), orderWarning(policy("a"), [])]).toEqual([null, null]);
});

test("warns if policies wait for each other, and terminates", () => {
  expect(orderWarning(policy("a", "b"), [policy("b", "c"), policy("c", "a")])?.message).toBe(
    "These policies wait for each other: a → b → c → a. So none of them waits.",
  );
  expect(orderWarning(policy("a", "b"), [policy("b", "c"), policy("c", "b")])).toBeNull();
});

test("warns if too few people could approve", () => {
  expect(reachWarning(2, 2, "default")).toBeNull();
  expect([0, 1, 2].map((people) => reachWarning(3, people, "default")?.message)).toEqual([
    "The policy asks for approvals of 3 different people; in the membrane default your organization has nobody who may.",
    "The policy asks for approvals of 3 different people; in the membrane default your organization has only 1 person who may.",
    "The policy asks for approvals of 3 different people; in the membrane default your organization has only 2 who may.",
  ]);
});
