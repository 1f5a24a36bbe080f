import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { decide, judge } from "../../src/deciding/decide.ts";
import { strictness } from "../../src/deciding/decision.ts";
import { asAncestor } from "../../src/deciding/evaluate-readings.ts";
import { bareReasons } from "../../src/deciding/reasons.ts";
import { inputOf, type TestPolicy } from "../../src/testing/deciding.ts";

const agents = ["worker", "lead", "boss"];
const condition = fc.constantFrom(
  "true",
  "params.x > 4",
  'agent.id == "boss"',
  'agent.id != "lead" && params.x < 9',
  "facts.organizational.delegation_limit_usd < params.x",
  'agent.?parent.orValue("") == "lead"',
);
const names = ["a", "b", "c", "d"];
const spec = fc.record({
  agents: fc.option(fc.subarray(agents, { minLength: 1 }), { nil: undefined }),
  when: condition,
  effect: fc.constantFrom("block", "escalate", "approve_modified", "none"),
  on_unknown: fc.constantFrom("fire", "escalate", "block", "skip"),
  risk: fc.constantFrom(0.2, 0.5, 0.8),
  modify: fc.constantFrom(
    [{ op: "cap", path: "/x", value: "5.0" }],
    [{ op: "set", path: "/x", value: 'agent.id == "boss" ? 1.0 : 8.0' }],
    [{ op: "remove", path: "/y" }],
  ),
  suppresses: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
});

const policies = fc.array(spec, { minLength: 1, maxLength: names.length }).map((specs) =>
  specs.map(({ agents: only, risk, modify, suppresses, ...given }, index): TestPolicy => {
    const name = names[index] as string;
    const changes = given.effect === "approve_modified" ? { modify } : {};
    const match = only === undefined ? {} : { match: { agents: only } };
    const others = suppresses.filter((other) => other !== name);
    return { name, spec: { ...given, ...match, ...changes, risk: { add: risk }, suppresses: others } };
  }),
);
const limit = fc.constantFrom(undefined, 1, 7);

test("a sub-agent never gets more than an agent above it, nor more than it would get alone", () => {
  let stricter = 0;
  fc.assert(
    fc.property(policies, fc.tuple(limit, limit, limit), fc.constantFrom(2, 6, 12), (rules, limits, x) => {
      const membrane = { thresholds: { escalate_at: 0.7, block_at: 0.9 } };
      const inputs = agents.map((id, index) => {
        const organizational = limits[index] === undefined ? {} : { delegation_limit_usd: limits[index] };
        return inputOf(rules, { intent: { agent: { id }, content: { x, y: 1 } }, facts: { organizational }, membrane });
      });
      const [alone] = inputs as [(typeof inputs)[0], ...typeof inputs];
      const ancestors = agents.slice(1).map((id, index) => ({
        ...{ id, source: "register" as const },
        facts: inputs[index + 1]?.facts ?? {},
      }));
      const input = { ...alone, facts: { ...alone.facts, ancestors } };
      const together = judge(input);
      const { verdict } = together.conclusion;
      expect(decide(input).content.verdict).toBe(verdict);
      expect(bareReasons(together).length).toBe(decide(input).content.reasons.length);
      const singles = [alone, ...ancestors.map((ancestor) => asAncestor(input, ancestor))];
      for (const single of singles) {
        const of_single = judge(single).conclusion.verdict;
        expect(strictness[verdict]).toBeGreaterThanOrEqual(strictness[of_single]);
        if (strictness[of_single] > strictness[judge(alone).conclusion.verdict]) stricter += 1;
      }
    }),
    { numRuns: runs(4_000) },
  );
  expect(stricter).toBeGreaterThan(0);
});
