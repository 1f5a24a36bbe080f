import { describe, expect, test } from "vitest";
import { checkPolicy } from "../policy/check/check.ts";
import type { PolicyDocument, PolicyTestCase } from "../policy/document.ts";
import { locateObject } from "../policy/locate-object.ts";
import { policySource } from "../testing/deciding.ts";
import { redTestDiagnostics } from "./red-tests.ts";
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

test("a case passes exactly if all its expectations hold", () => {
  expect(
    run(base, { ...base, expect: {} }, { ...base, expect: { verdict: "block", fired: ["p"], risk: 0.4 } }),
  ).toEqual(Array(3).fill({ name: "t", passed: true, mismatches: [] }));
});

test("a failed case reports expected and actual values", () => {
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

const red = {
  apiVersion: "countersign/v1",
  kind: "Policy",
  metadata: { name: "p" },
  spec: { when: "params.amount > 3", effect: "block" },
  tests: [
    base,
    { ...base, name: "red one", expect: { verdict: "approve" } },
    { ...base, name: "red two", expect: { risk: 1 } },
  ],
};
const yaml = `apiVersion: countersign/v1
kind: Policy
metadata: {name: p}
spec: {when: params.amount > 3, effect: block}
tests:
  - name: green
    intent: {agent: {id: a}, action: {verb: v}, payload: {content: {amount: 5}}}
    expect: {verdict: block}
  - {name: red one, intent: {agent: {id: a}, action: {verb: v}, payload: {content: {amount: 5}}},
     expect: {verdict: approve}}
  # The next one is red as well.
  -
    name: red two
    intent: {agent: {id: a}, action: {verb: v}, payload: {content: {amount: 5}}}
    expect: {risk: 1}
`;

describe("a failed case is reported at what it expects", () => {
  test.each([
    ["YAML", yaml, [10, 24], [15, 20]],
    [
      "JSON",
      JSON.stringify(red, null, 2),
      placeIn(JSON.stringify(red, null, 2), 1),
      placeIn(JSON.stringify(red, null, 2), 2),
    ],
    ["JSON on one line", JSON.stringify(red), placeIn(JSON.stringify(red), 1), placeIn(JSON.stringify(red), 2)],
    ["an object", red, placeIn(JSON.stringify(red, null, 2), 1), placeIn(JSON.stringify(red, null, 2), 2)],
  ])("%s", (_, input, one, two) => {
    const { document, located } = checkPolicy(input);
    if (document === null) throw new Error("the document is right");
    const found = redTestDiagnostics(runPolicyTests(document), located);
    expect(found.map(({ path, line, column }) => [path, [line, column]])).toEqual([
      ["/tests/1/expect/verdict", one],
      ["/tests/2/expect/risk", two],
    ]);
    for (const { code, message, help } of found)
      expect([code, message, help]).toEqual(["test_failed", expect.stringContaining('"red '), expect.any(String)]);
  });

  /** Finds the value that a failing case expects. */
  function placeIn(text: string, case_index: 1 | 2): [number, number] {
    const member = case_index === 1 ? /"verdict":\s*(?="approve")/ : /"risk":\s*(?=1)/;
    const found = member.exec(text);
    const before = text.slice(0, (found?.index ?? 0) + (found?.[0].length ?? 0)).split("\n");
    return [before.length, (before.at(-1)?.length ?? 0) + 1];
  }

  test("the number of reported failed cases is limited", () => {
    const many = Array.from({ length: 150 }, (_, at) => ({
      ...base,
      name: `n${at}`,
      expect: { verdict: "approve" as const },
    }));
    const { document } = policySource({ name: "p", spec: { when: "true", effect: "block" } });
    const tested = { ...document, tests: many };
    const found = redTestDiagnostics(runPolicyTests(tested), locateObject(tested));
    expect([found.length, found.at(-1)?.code]).toEqual([101, "more_findings"]);
  });
});
