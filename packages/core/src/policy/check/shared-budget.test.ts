import { limits } from "@countersign/contract";
import { expect, test } from "vitest";
import type { Match } from "../action-index.ts";
import { finish } from "../expressions.ts";
import { type CostlyPolicy, canMeet, sharedBudgetSteps } from "./shared-budget.ts";

const budget = limits.policy_cost_budget;
const costs = (name: string, units: number, match: Match = {}): CostlyPolicy => ({ name, units, match });
const several = (count: number, units: number, match: Match = {}) =>
  Array.from({ length: count }, (_, n) => costs(`p${n}`, units, match));
const warned = (policy: CostlyPolicy, others: readonly CostlyPolicy[]) =>
  finish(sharedBudgetSteps([policy], others))?.message ?? null;

test("policies that exceed the budget together give a warning that names the most expensive", () => {
  const own = costs("own", budget / 10, { actions: ["payment.transfer"] });
  expect(warned(own, several(9, budget / 10))).toBeNull();
  expect(warned(own, several(10, budget / 10, { actions: ["payment.*"] }))).toBe(
    "The 11 policies that match an action of the type payment.transfer may take 110,000 units together; 100,000 is the budget " +
      "of one decision. The policies are: own (10,000), p0 (10,000), p1 (10,000), p2 (10,000), p3 (10,000) and 6 more.",
  );
});

test.each<[string, Match, Match]>([
  ["types", { actions: ["a.*"] }, { actions: ["b.*", "ab"] }],
  ["verbs", { verbs: ["pay"] }, { verbs: ["pay_*", "send"] }],
  ["excluded types", { actions: ["a.*"] }, { exclude: { actions: ["a.*"] } }],
  ["excluded agents", { agents: ["x-1"] }, { exclude: { agents: ["x*", "unnamed"] } }],
])("policies of different %s never meet", (_, a, b) => {
  expect(canMeet(a, b)).toBe(false);
  expect(warned(costs("own", budget, a), [costs("other", budget, b)])).toBeNull();
});

test.each<[Match, Match]>([
  [{ actions: ["a.*"] }, { actions: ["a.b.*"], exclude: { actions: ["a.b.c"] } }],
  [{ actions: ["a"] }, { verbs: ["pay"] }],
  // An unnamed caller may be any of them.
  [{ agents: ["x-1"] }, { agents: ["x-2"] }],
  [{ exclude: { verbs: ["pay"] } }, {}],
  [{ verbs: ["pay*"] }, { verbs: ["payout"], exclude: { agents: ["x"] } }],
])("policies that one action can match meet: %j, %j", (a, b) => {
  expect(canMeet(a, b)).toBe(true);
  expect(warned(costs("own", budget, a), [costs("other", budget, b)])).toContain("other (100,000)");
});

test("actions matched only by others, and others that never match together, do not count", () => {
  const each = ["a", "b", "c"].map((verb) => costs(verb, budget / 2, { verbs: [verb] }));
  expect(warned(costs("own", budget / 2), each)).toBeNull();
  expect(warned(costs("own", budget / 2 + 1), each)).toContain("The 2 policies");
  expect(warned(costs("own", budget / 2, { actions: ["x"] }), several(3, budget, { actions: ["y"] }))).toBeNull();
});

test("a cheap policy gives a warning only if it exceeds the budget", () => {
  expect(warned(costs("own", 10), several(6, budget))).toBeNull();
  expect(warned(costs("own", 10), several(8, budget / 8))).toContain("The 9 policies");
});

test("the warning is about the most expensive action of all added policies", () => {
  const added = [costs("a", 10, { actions: ["a"] }), costs("b", budget, { actions: ["b"] })];
  const warning = finish(sharedBudgetSteps(added, [costs("other", 10)]));
  expect(warning?.message).toMatch(
    /^The 2 policies that match an action of the type b .*: b \(100,000\), other \(10\)\.$/,
  );
  expect(finish(sharedBudgetSteps(added, []))).toBeNull();
  expect(finish(sharedBudgetSteps([], [costs("x", budget), costs("y", budget)]))).toBeNull();
});

test("the check terminates for any number of patterns", () => {
  const names = Array.from({ length: 200 }, (_, n) => `n${n}`);
  const one = (n: number) =>
    costs(`p${n}`, budget / 3, { actions: names, verbs: names, agents: [`n${n}`], exclude: { agents: ["unnamed"] } });
  expect(
    warned(
      { ...one(0), match: {} },
      names.map((_, n) => one(n)),
    ),
  ).toBeNull();
});
