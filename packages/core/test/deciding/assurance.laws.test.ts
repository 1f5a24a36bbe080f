import { assuranceNames, assuranceRank, type FactsFrom } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { decide } from "../../src/deciding/decide.ts";
import { stricter } from "../../src/deciding/decision.ts";
import { compilePolicySet } from "../../src/deciding/policy-set.ts";
import { mergeFacts } from "../../src/facts/merge.ts";
import { inputOf, noon, type TestCase, type TestPolicy } from "../../src/testing/deciding.ts";
import { packNames, packOf } from "../../src/testing/packs.ts";

const atoms = [
  "facts.security.alert",
  "facts.security.alert == false",
  "facts.identity.level > 3",
  "params.x > facts.identity.level",
  "params.x > 4",
  "has(facts.identity.level)",
  "facts.identity.level == null",
  "!has(facts.entity_state.status) || facts.entity_state.status == 'frozen'",
  "facts.entity_state.status in ['open', 'frozen']",
  "vars.v > 2",
];
const condition: fc.Arbitrary<string> = fc.letrec<{ node: string; atom: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    tie("atom"),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} || ${b})`),
    tie("node").map((a) => `!(${a})`),
  ),
  atom: fc.constantFrom(...atoms),
})).node;

const assurance = fc.constantFrom(...assuranceNames);
const facts_from: fc.Arbitrary<FactsFrom> = fc.dictionary(
  fc.constantFrom("identity", "identity.level", "security", "entity_state.status"),
  fc.constantFrom(...assuranceNames, "attested"),
  { minKeys: 1 },
);
const spec = fc.record(
  {
    when: condition,
    require: condition,
    effect: fc.constantFrom("block", "escalate", "approve_modified", "none"),
    on_unknown: fc.constantFrom("skip", "skip", "skip", "fire", "escalate", "block"),
    risk: fc.constantFrom({ add: 0.4 }, { add: "facts.identity.level / 10.0" }),
    facts_from,
    suppresses: fc.constantFrom(["a"], ["b"]),
  },
  { requiredKeys: ["when", "effect", "on_unknown"] },
);
const names = ["a", "b", "c"];
const policies: fc.Arbitrary<TestPolicy[]> = fc.array(spec, { minLength: 1, maxLength: 3 }).map((specs) =>
  specs.map((given, at) => ({
    name: names[at] as string,
    spec: {
      ...given,
      ...(given.effect === "none" ? { risk: given.risk ?? { add: 0.3 } } : {}),
      ...(given.effect === "approve_modified"
        ? { modify: [{ op: "cap", path: "/x", value: "facts.identity.level" }] }
        : {}),
      ...(given.suppresses === undefined ? {} : { suppresses: given.suppresses.filter((name) => name !== names[at]) }),
      variables: [{ name: "v", expr: "facts.identity.level" }],
    },
  })),
);
const source = fc.record({
  source: fc.constantFrom("inline" as const, "org" as const, "agent" as const, "pulled" as const),
  facts: fc.record(
    {
      security: fc.record({ alert: fc.constantFrom<unknown>(true, false, null) }, { requiredKeys: [] }),
      identity: fc.record({ level: fc.constantFrom<unknown>(1, 4, 7, null) }, { requiredKeys: [] }),
      entity_state: fc.record({ status: fc.constantFrom("open", "frozen") }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  ),
  as_of: fc.constantFrom({}, { identity: "2026-11-01T00:00:00Z" }),
  assurance,
});
const situation = fc.record({
  sources: fc.array(source, { minLength: 1, maxLength: 2 }),
  intent: fc.record({ content: fc.constantFrom<Record<string, unknown>>({ x: 2 }, { x: 6 }, {}) }),
  membrane: fc.record({
    thresholds: fc.record({ escalate_at: fc.constantFrom(null, 0.3), block_at: fc.constantFrom(null, 0.7) }),
    facts_from,
  }),
});
const verdictOf = (given: readonly TestPolicy[], on: TestCase) => decide(inputOf(given, on)).content.verdict;
const holds = (verdict: string): boolean => verdict === "block" || verdict === "escalate";

describe("laws of assurance", () => {
  test("lowering a fact's assurance never turns a hold into an approval", () => {
    const lowered = fc.oneof(fc.constant("reported" as const), assurance);
    fc.assert(
      fc.property(policies, situation, fc.nat(), lowered, (given, on, pick, to) => {
        const at = pick % on.sources.length;
        const lower = on.sources.map((each, index) =>
          index === at && assuranceRank[to] < assuranceRank[each.assurance] ? { ...each, assurance: to } : each,
        );
        if (holds(verdictOf(given, on))) expect(holds(verdictOf(given, { ...on, sources: lower }))).toBe(true);
      }),
      { numRuns: runs(5_000) },
    );
  });

  test("requiring more assurance never turns a verdict into an approval", () => {
    fc.assert(
      fc.property(
        policies,
        situation,
        fc.constantFrom("identity", "security", "entity_state"),
        (given, on, category) => {
          if (!holds(verdictOf(given, on))) return;
          const membrane = {
            ...on.membrane,
            facts_from: { ...on.membrane.facts_from, [category]: "verified" as const },
          };
          expect(holds(verdictOf(given, { ...on, membrane }))).toBe(true);
          const asking = given.map((each) => ({
            ...each,
            spec: { ...each.spec, facts_from: { [category]: "verified" } },
          }));
          const without = given.map((each) => ({ ...each, spec: { ...each.spec, facts_from: {} } }));
          if (holds(verdictOf(without, on))) expect(holds(verdictOf(asking, on))).toBe(true);
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  test("facts stored for another spelling of an id never loosen a verdict", () => {
    fc.assert(
      fc.property(policies, situation, source, (given, on, { facts }) => {
        const respelled = { source: "agent" as const, facts, respelled: true };
        const [without, as_own] = [
          verdictOf(given, on),
          verdictOf(given, { ...on, sources: [...on.sources, { source: "agent", facts }] }),
        ];
        const after = verdictOf(given, { ...on, sources: [...on.sources, respelled] });
        if (holds(without) || holds(as_own)) expect(holds(after)).toBe(true);
      }),
      { numRuns: runs(600) },
    );
  });

  test("in the packs, reported facts in place of attested ones never loosen a verdict", () => {
    const set = compilePolicySet({
      policies: packNames.flatMap((name) =>
        packOf(name).rules.map((document) => ({
          ...{ policy_id: `pol_${document.metadata.name}`, version: 1, document, mode: "live" as const, pack: name },
        })),
      ),
      version: 1,
    });
    const cases = packNames.flatMap((name) => packOf(name).cases);
    expect(cases.length).toBeGreaterThan(500);
    for (const { intent, facts, as_of, now } of cases) {
      const now_us = Date.parse(now) * 1_000;
      const given = (assurance: "attested" | "reported") => ({
        ...inputOf([], { intent: {}, now: noon }),
        ...{ intent: intent as never, now_us, policySet: set },
        facts: mergeFacts([
          { source: "inline", document: { facts, as_of: as_of ?? {} }, received_us: now_us, assurance },
        ]),
      });
      const input = given("attested");
      const membrane = {
        ...input.membrane,
        facts_from: {
          identity: "attested",
          security: "attested",
          regulatory: "attested",
          entity_state: "attested",
          organizational: "attested",
          environmental: "attested",
        } as const,
      };
      const before = decide({ ...input, membrane }).content.verdict;
      const after = decide({ ...given("reported"), membrane }).content.verdict;
      if (holds(before)) expect(stricter(after, "escalate")).toBe(after);
    }
  });
});
