/** Source: decision 0014. */
import type { ApprovalChange } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wouldApproveIf } from "../../packages/core/src/counterfactual/would-approve-if.ts";
import { decide } from "../../packages/core/src/deciding/decide.ts";
import type { DecideInput } from "../../packages/core/src/deciding/decision.ts";
import { compilePolicySet } from "../../packages/core/src/deciding/policy-set.ts";
import { plainMembrane } from "../../packages/core/src/deciding/run-tests.ts";
import { mergeFacts } from "../../packages/core/src/facts/merge.ts";
import type { PolicySource } from "../../packages/core/src/policy/compile.ts";
import { inputOf, type TestCase, type TestPolicy } from "../../packages/core/src/testing/deciding.ts";
import { packNames, packOf } from "../../packages/core/src/testing/packs.ts";
import { parseTimestampUs } from "../../packages/core/src/time.ts";
import { runs, sampleOf } from "../../scripts/property-runs.ts";

type Bag = Record<string, unknown>;

/** Applies changes by path and value alone, as a caller would. */
function make(input: DecideInput, changes: readonly ApprovalChange[]): DecideInput {
  const content = structuredClone(input.intent.payload?.content ?? {}) as Bag;
  const values: Record<string, Bag> = {};
  for (const { path, op, value } of changes) {
    const [root, ...names] = path.split(".");
    const last = names.pop() as string;
    if (root === "facts") {
      values[names[0] as string] = { ...values[names[0] as string], [last]: value };
      continue;
    }
    let at = content;
    for (const name of names) {
      at[name] ??= {};
      at = at[name] as Bag;
    }
    if (op === "absent") delete at[last];
    else at[last] = value;
  }
  const given = mergeFacts([{ source: "pulled", document: { facts: values }, received_us: input.now_us }]) as Bag;
  const facts: Bag = { ...input.facts };
  for (const [name, added] of Object.entries(given) as [string, { values: Bag; origin: object }][]) {
    const old = facts[name] as { values: Bag; origin: object; origins: Bag | null } | undefined;
    if (old === undefined) {
      facts[name] = added;
      continue;
    }
    const origins = Object.fromEntries(Object.keys(added.values).map((field) => [field, added.origin]));
    facts[name] = { ...old, values: { ...old.values, ...added.values }, origins: { ...old.origins, ...origins } };
  }
  return { ...input, intent: { ...input.intent, payload: { ...input.intent.payload, content } }, facts };
}

const approves = (input: DecideInput): boolean => /^approve/.test(decide(input).content.verdict);

/** Checks every promise about one offer. Returns false if there was no offer. */
function check(input: DecideInput, label: string): boolean {
  const decided = decide(input);
  const offer = wouldApproveIf(input, decided);
  expect(JSON.stringify(wouldApproveIf(input, decide(input))), label).toBe(JSON.stringify(offer));
  if (offer === null) return false;
  expect(decided.content.verdict, label).toMatch(/^(block|escalate)$/);
  expect(offer.length, label).toBeLessThanOrEqual(3);
  expect(approves(make(input, offer)), `${label}: ${JSON.stringify(offer)}`).toBe(true);
  for (let mask = 0; mask < 2 ** offer.length - 1; mask += 1) {
    const fewer = offer.filter((_, at) => (mask >> at) & 1);
    expect(approves(make(input, fewer)), `${label}: ${JSON.stringify(fewer)}`).toBe(false);
  }
  return true;
}

describe("over the real packs", () => {
  const packs = packNames.map(packOf);
  const sourcesOf = (pack: (typeof packs)[number], hidden = false): PolicySource[] =>
    pack.rules.map((document) => ({
      policy_id: `pack:${pack.name}/${document.metadata.name}`,
      version: 1,
      document: hidden ? { ...document, spec: { ...document.spec, explain: false } } : document,
      mode: "live",
      pack: pack.name,
    }));
  const inputs = (pack: (typeof packs)[number], policies: readonly PolicySource[]): [string, DecideInput][] => {
    const policySet = compilePolicySet({ policies, version: 1 });
    return sampleOf(pack.cases).map((one) => {
      const now_us = parseTimestampUs(one.now ?? "2026-01-01T12:00:00Z") ?? 0;
      const document = { facts: one.facts ?? {}, as_of: one.as_of ?? {} } as never;
      return [
        `${one.rule}, ${one.name}`,
        {
          intent: one.intent as never,
          facts: mergeFacts([{ source: "org", document, received_us: now_us }]),
          policySet,
          membrane: plainMembrane,
          mode: "live",
          now_us,
          attested: true,
        },
      ];
    });
  };

  test("every offer is true, none has a needless change, and offers are made", () => {
    let offers = 0;
    let stopped = 0;
    for (const pack of packs) {
      for (const [label, input] of inputs(pack, sourcesOf(pack))) {
        if (!approves(input)) stopped += 1;
        if (check(input, label)) offers += 1;
      }
    }
    expect(stopped).toBeGreaterThan(runs(200) / 2);
    expect(offers / stopped).toBeGreaterThan(0.2);
  });

  test("with all packs active every offer is true", () => {
    const all = packs.flatMap((pack) => sourcesOf(pack));
    for (const pack of packs.slice(0, 4)) for (const [label, input] of inputs(pack, all)) check(input, label);
  });

  test("rules can forbid offers", () => {
    for (const pack of packs)
      for (const [label, input] of inputs(pack, sourcesOf(pack, true))) expect(check(input, label), label).toBe(false);
  });
});

describe("over generated rules", () => {
  const atom = fc.constantFrom(
    "params.x > 4",
    "params.x >= params.y",
    "params.x < 2.5",
    "params.flag",
    "params.kind in ['a', 'b']",
    "'k' in params.list",
    "has(params.z)",
    "facts.security.alert",
    "facts.identity.level > 3",
    "facts.identity.level >= params.x",
    "documented(facts.organizational.gdpr_legal_basis)",
    "tls(facts.environmental.tls_version) >= 1.2",
    "vars.v == 7",
  );
  const condition: fc.Arbitrary<string> = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { depthSize: "small" },
      atom,
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} || ${b})`),
      tie("node").map((a) => `!(${a})`),
      fc.tuple(atom, tie("node"), tie("node")).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  })).node;
  const rule = fc.record({
    when: condition,
    require: fc.option(condition, { nil: undefined }),
    effect: fc.constantFrom("block", "escalate", "none"),
    on_unknown: fc.constantFrom("fire", "escalate", "block", "skip"),
    risk: fc.record({ add: fc.constantFrom(0.1, 0.4, 0.7) }),
    explain: fc.constantFrom(true, true, true, false),
    variables: fc.constant([{ name: "v", expr: "params.y" }]),
  });
  const rules = fc
    .array(rule, { minLength: 1, maxLength: 4 })
    .map((specs) => specs.map((spec, at): TestPolicy => ({ name: `r${at}`, spec: JSON.parse(JSON.stringify(spec)) })));
  const situation: fc.Arbitrary<TestCase> = fc.record({
    intent: fc.record({
      content: fc.record(
        {
          x: fc.constantFrom<unknown>(1, 6, 2.5, "6"),
          y: fc.constantFrom<unknown>(3, 7),
          flag: fc.constantFrom<unknown>(true, false, null),
          kind: fc.constantFrom("a", "c"),
          list: fc.constantFrom(["k"], []),
          z: fc.constant(1),
        },
        { requiredKeys: [] },
      ),
    }),
    facts: fc.record(
      {
        security: fc.record({ alert: fc.boolean() }),
        identity: fc.record({ level: fc.constantFrom(1, 5) }),
        environmental: fc.record({ tls_version: fc.constantFrom("1.0", "1.3") }),
      },
      { requiredKeys: [] },
    ),
    as_of: fc.record({ security: fc.constant("2026-11-18T10:30:00Z") }, { requiredKeys: [] }),
    membrane: fc.record({
      thresholds: fc.record({ escalate_at: fc.constantFrom(null, 0.5), block_at: fc.constant(null) }),
    }),
  });

  test("every offer is true, minimal and reproducible", () => {
    let offers = 0;
    fc.assert(
      fc.property(rules, situation, (given, on) => {
        const input = inputOf(given, on);
        if (check(input, JSON.stringify(given))) offers += 1;
      }),
      { numRuns: runs(400) },
    );
    expect(offers).toBeGreaterThanOrEqual(Math.floor(runs(20) / 2));
  });

  test("the order of rules and facts never matters, and a blocking rule that forbids offers prevents them", () => {
    fc.assert(
      fc.property(rules, situation, (given, on) => {
        const input = inputOf(given, on);
        const decided = decide(input);
        const offer = wouldApproveIf(input, decided);
        const other = inputOf([...given].reverse(), on);
        expect(JSON.stringify(wouldApproveIf(other, decide(other)))).toBe(JSON.stringify(offer));
        const names = new Set(
          decided.content.reasons.filter(({ effect }) => /block|escalate/.test(effect)).map(({ policy }) => policy),
        );
        if (given.some(({ name, spec }) => names.has(name) && spec["explain"] === false)) expect(offer).toBeNull();
      }),
      { numRuns: runs(200) },
    );
  });
});
