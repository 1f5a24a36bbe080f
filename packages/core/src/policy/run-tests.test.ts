import { expect, test } from "vitest";
import { policySource } from "../testing/deciding.ts";
import type { PolicyDocument, PolicyTestCase } from "./document.ts";
import { runPolicyTests } from "./run-tests.ts";

const intent = {
  agent: { id: "a" },
  action: { type: "payment.transfer", verb: "send" },
  payload: { content: { amount: 5 } },
};
const base = { name: "t", intent, expect: { verdict: "block" as const } };

function run(...tests: PolicyTestCase[]) {
  const { document } = policySource({
    name: "p",
    spec: { when: "params.amount > 3", effect: "block", risk: { add: 0.4 }, message: "over {{params.amount}}" },
  });
  return runPolicyTests({ ...document, tests } satisfies PolicyDocument);
}

test("a case passes exactly when everything it expects came out", () => {
  expect(
    run(base, { ...base, expect: {} }, { ...base, expect: { verdict: "block", fired: ["p"], risk: 0.4 } }),
  ).toEqual(Array(3).fill({ name: "t", passed: true, mismatches: [] }));
});

test("a case that fails says what was expected and what came out", () => {
  const expected = { verdict: "approve" as const, fired: [], risk: 0.5, unknown_facts: ["facts.security.siem_ref"] };
  expect(run({ ...base, expect: expected })).toEqual([
    {
      name: "t",
      passed: false,
      mismatches: [
        { field: "verdict", expected: "approve", actual: "block" },
        { field: "fired", expected: [], actual: ["p"] },
        { field: "risk", expected: 0.5, actual: 0.4 },
        { field: "unknown_facts", expected: ["facts.security.siem_ref"], actual: [] },
      ],
    },
  ]);
});
