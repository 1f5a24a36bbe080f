/** Decides each command of the pack's cases under the whole pack. */
import { expect, test } from "vitest";
import { decide } from "../../packages/core/src/deciding/decide.ts";
import { compilePolicySet } from "../../packages/core/src/deciding/policy-set.ts";
import { plainMembrane } from "../../packages/core/src/deciding/run-tests.ts";
import { mergeFacts } from "../../packages/core/src/facts/merge.ts";
import { packSources } from "../../packages/core/src/packs/pack-sources.ts";
import { packOf } from "../../packages/core/src/testing/packs.ts";

const pack = packOf("coding");
const policySet = compilePolicySet({ policies: packSources(new Map([["coding", pack]]), ["coding"]), version: 1 });

/** The rules that must fire, by action. */
const expected = new Map<string, Set<string>>();
for (const { intent, rule, expect: verdict } of pack.cases) {
  const rules = expected.get(JSON.stringify(intent)) ?? new Set();
  if (verdict !== "approve") rules.add(rule);
  expected.set(JSON.stringify(intent), rules);
}

function firedBy(intent: never): readonly string[] {
  const input = { intent, facts: mergeFacts([]), policySet, membrane: plainMembrane, mode: "live" as const, now_us: 0 };
  return decide(input).content.reasons.map(({ policy }) => policy);
}

test("each command fires exactly the rules that its cases name, and a harmless one fires none", () => {
  const wrong = [...expected].flatMap(([text, rules]) => {
    const fired = firedBy(JSON.parse(text) as never);
    const same = fired.length === rules.size && fired.every((rule) => rules.has(rule));
    return same ? [] : [`${text}: expected ${[...rules].join()}, got ${fired.join()}`];
  });
  expect(wrong).toEqual([]);
  expect(expected.size).toBeGreaterThan(150);
});
