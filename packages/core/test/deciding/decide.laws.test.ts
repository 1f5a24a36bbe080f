import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { decide, judge } from "../../src/deciding/decide.ts";
import { type DecisionContent, stricter } from "../../src/deciding/decision.ts";
import { mergeChanges } from "../../src/deciding/merge-changes.ts";
import { compilePolicySet } from "../../src/deciding/policy-set.ts";
import { bareReasons } from "../../src/deciding/reasons.ts";
import { inputOf, noon, policySource, type TestCase, type TestPolicy } from "../../src/testing/deciding.ts";
import { nothing, pointerNames, valueAt } from "../../src/values/json-patch.ts";
import { redacted_text } from "../../src/values/redacted-texts.ts";

/** Unknown without their facts: no has() and no comparison with null. */
const condition: fc.Arbitrary<string> = fc.letrec<{ node: string; atom: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    tie("atom"),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a} || ${b})`),
    tie("node").map((a) => `!(${a})`),
  ),
  atom: fc.constantFrom(
    "true",
    "facts.security.alert",
    "facts.security.alert == false",
    "facts.identity.level > 3",
    "params.x > facts.identity.level",
    "params.x > 4",
    "'a' in data_classes",
    "facts.environmental.recipient_local_hour < 21",
    "facts.regulatory.tags.exists(t, t == 'k')",
    "vars.v > 2",
  ),
})).node;

const risk = fc.option(
  fc.record({
    add: fc.oneof(fc.constantFrom(0, 0.1, 0.35, 0.6, 1), fc.constant("facts.identity.level / 10.0")),
    group: fc.constantFrom("g", "h"),
  }),
  { nil: undefined },
);
const step = fc.oneof(
  fc.record({
    op: fc.constantFrom("set", "cap", "floor"),
    path: fc.constantFrom("/x", "/y", "/y/z"),
    value: fc.constantFrom("1", "5.0", "facts.identity.level", "dyn('t')"),
  }),
  fc.record({ op: fc.constantFrom("remove", "redact"), path: fc.constantFrom("/x", "/y") }),
);
const age = fc.option(fc.constantFrom({ identity: "1m" }, { "security.alert": "2h" }), { nil: undefined });
const shared = { when: condition, require: fc.option(condition, { nil: undefined }), risk, facts_max_age: age };
const names = ["a", "b", "c", "d", "e"];
const categories = ["security", "identity", "environmental", "regulatory"];

function spec(
  effects: readonly string[],
  unknowns: readonly string[],
  suppresses: boolean,
): fc.Arbitrary<Record<string, unknown>> {
  return fc.record({
    ...shared,
    effect: fc.constantFrom(...effects),
    on_unknown: fc.option(fc.constantFrom(...unknowns), { nil: undefined }),
    modify: fc.array(step, { minLength: 1, maxLength: 2 }),
    suppresses: suppresses ? fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }) : fc.constant([]),
    message: fc.constant("x is {{params.x}}"),
  });
}

/** Omits fields that do not fit the effect. */
function policy(name: string, given: Record<string, unknown>, mode: "live" | "shadow" = "live"): TestPolicy {
  const { modify, suppresses, risk: added, ...rest } = given;
  const kept = {
    ...rest,
    risk: given["effect"] === "none" ? (added ?? { add: 0.2 }) : added,
    ...(given["effect"] === "approve_modified" || given["modify_when"] !== undefined ? { modify } : {}),
    suppresses: (suppresses as string[]).filter((other) => other !== name),
    variables: [{ name: "v", expr: "facts.identity.level" }],
  };
  return { name, mode, spec: Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== undefined)) };
}

const anySpec = spec(["block", "escalate", "approve_modified", "none"], ["fire", "escalate", "block", "skip"], true);
const blockSpec = spec(["block"], ["fire", "escalate", "block", "skip"], true);
const failSafeSpec = spec(["block", "escalate", "approve_modified"], ["fire", "escalate", "block"], true);
const policies = (of: fc.Arbitrary<Record<string, unknown>>): fc.Arbitrary<TestPolicy[]> =>
  fc
    .array(fc.tuple(of, fc.constantFrom("live", "live", "live", "shadow")), { maxLength: names.length })
    .map((specs) =>
      specs.map(([given, mode], index) => policy(names[index] as string, given, mode as "live" | "shadow")),
    );

const facts = fc.record(
  {
    security: fc.record({ alert: fc.constantFrom<unknown>(true, false, null, "true") }, { requiredKeys: [] }),
    identity: fc.record({ level: fc.constantFrom<unknown>(1, 4, 7, null) }, { requiredKeys: [] }),
    environmental: fc.record({ recipient_local_hour: fc.constantFrom(20, 21) }, { requiredKeys: [] }),
    regulatory: fc.record({ tags: fc.constantFrom<unknown>(["k"], [], "k") }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
const time = fc.constantFrom(noon, "2026-11-18T11:58:00Z", "2026-11-18T10:30:00Z", "2026-11-01T00:00:00Z");
const situation: fc.Arbitrary<TestCase> = fc.record({
  intent: fc.record({
    content: fc.constantFrom<Record<string, unknown> | null>({ x: 2 }, { x: 6, y: { z: 1 } }, {}, null),
    data_classes: fc.constantFrom(["a"], []),
  }),
  facts,
  as_of: fc.record({ security: time, identity: time, environmental: time }, { requiredKeys: [] }),
  membrane: fc.record({
    default_verdict: fc.constantFrom("approve", "approve", "escalate"),
    thresholds: fc.record({ escalate_at: fc.constantFrom(null, 0.3), block_at: fc.constantFrom(null, 0.7) }),
  }),
  overrides: fc.subarray(names.map((name) => `pol_${name}`)),
});

/** Returns the counted parts of a decision, sorted. */
function counted({ verdict, reasons }: Pick<DecisionContent, "verdict" | "reasons">): unknown {
  const said = reasons.map(({ policy, effect, unknown_facts }) => [
    policy,
    effect,
    unknown_facts.map(({ path }) => path),
  ]);
  return [verdict, said.map((each) => JSON.stringify(each)).sort()];
}

describe("laws of deciding", () => {
  test("judge has the verdict of decide, and its bare reasons are those of decide", () => {
    const budget = fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined });
    fc.assert(
      fc.property(policies(anySpec), situation, budget, (given, on, cost_budget) => {
        const input = inputOf(given, cost_budget === undefined ? on : { ...on, cost_budget });
        const concluded = judge(input);
        const said = bareReasons(concluded).map(({ policy: name, effect, unknown }) =>
          JSON.stringify([name, effect, unknown.map(({ path }) => path)]),
        );
        expect([concluded.conclusion.verdict, said.sort()]).toEqual(counted(decide(input).content));
      }),
      { numRuns: runs(400) },
    );
  });

  test("adding a block policy never loosens a verdict", () => {
    fc.assert(
      fc.property(policies(anySpec), blockSpec, situation, (given, added, on) => {
        const before = decide(inputOf(given, on)).content.verdict;
        const after = decide(inputOf([...given, policy("new-block", added)], on)).content.verdict;
        expect(stricter(after, before)).toBe(after);
      }),
      { numRuns: runs(400) },
    );
  });

  test("an approved action is modified exactly if the verdict says so, and contains nothing that a rule hides", () => {
    fc.assert(
      fc.property(policies(anySpec), situation, (given, on) => {
        const input = inputOf(given, on);
        const { verdict, modifications, modified_content } = decide(input).content;
        if (verdict === "approve" || verdict === "approve_modified")
          expect(modifications.length > 0).toBe(verdict === "approve_modified");
        if (verdict === "block") return;
        const { action, evaluation } = judge(input);
        for (const { placed } of evaluation.votes.filter(({ effect }) => effect === "approve_modified")) {
          for (const { op, path } of placed.policy.redactions) {
            const left = valueAt(modified_content ?? action.content ?? {}, pointerNames(path));
            expect([nothing, ...(op === "redact" ? [redacted_text] : [])]).toContain(left);
          }
        }
      }),
      { numRuns: runs(400) },
    );
  });

  test("no rule stops an approved modified action or asks for a further change", () => {
    const on_params = fc.constantFrom(
      ...["true", "has(params.x) && params.x > 4", "has(params.x) && params.x < 3", "has(params.y)", "!has(params.y)"],
    );
    const steps = {
      when: on_params,
      modify: fc.array(step, { minLength: 1, maxLength: 2 }),
      suppresses: fc.constant([]),
    };
    const rule = fc.oneof(
      fc.record({ ...steps, effect: fc.constant("approve_modified") }),
      fc.record({ ...steps, effect: fc.constantFrom("escalate", "block"), modify_when: on_params }),
    );
    const content = fc.constantFrom<Record<string, unknown>>({ x: 2 }, { x: 6, y: { z: 1 } }, {}, { x: 6 });
    let let_through = 0;
    fc.assert(
      fc.property(policies(rule), content, (given, asked) => {
        const input = inputOf(given, { intent: { content: asked }, facts: { identity: { level: 4 } } });
        const { verdict, modified_content } = decide(input).content;
        if (verdict !== "approve_modified" || modified_content === null) return;
        let_through += 1;
        const made = judge(input).modified.plan.votes.filter(({ changes }) => changes.length > 0);
        const again = judge({ ...input, intent: { ...input.intent, payload: { content: modified_content } } });
        for (const { placed, effect, changes } of again.evaluation.votes) {
          if (made.some((each) => each.placed === placed)) continue;
          expect(["none", "approve_modified"]).toContain(effect);
          expect(mergeChanges(modified_content, changes)).toMatchObject({ operations: [] });
        }
      }),
      { numRuns: runs(400) },
    );
    expect(let_through).toBeGreaterThanOrEqual(Math.floor(runs(20) / 2));
  });

  test("a block policy never loosens a verdict by using up the budget, without modifications", () => {
    const plainSpec = spec(["block", "escalate", "none"], ["fire", "escalate", "block", "skip"], true);
    const budget = fc.integer({ min: 0, max: 60 });
    fc.assert(
      fc.property(policies(plainSpec), blockSpec, situation, budget, (given, added, on, cost_budget) => {
        const before = decide(inputOf(given, on)).content.verdict;
        const after = decide(inputOf([policy("a-block", added), ...given], { ...on, cost_budget })).content.verdict;
        expect(stricter(after, before)).toBe(after);
      }),
      { numRuns: runs(400) },
    );
  });

  test("the order of policies, fact sources and overrides never matters", () => {
    const shuffled = policies(anySpec).chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, facts, facts, situation, ([given, other], stored, inline, on) => {
        const sources = [
          { source: "agent" as const, facts: stored },
          { source: "inline" as const, facts: inline },
        ];
        const overrides = [...(on.overrides ?? [])].reverse();
        const left = decide(inputOf(given, { ...on, sources }));
        const right = decide(inputOf(other, { ...on, sources: [...sources].reverse(), overrides }));
        expect(JSON.stringify(right)).toBe(JSON.stringify(left));
      }),
      { numRuns: runs(150) },
    );
  });

  test("two runs give the same bytes, with the same and with a newly compiled policy set", () => {
    fc.assert(
      fc.property(policies(anySpec), situation, (given, on) => {
        const input = inputOf(given, on);
        const first = JSON.stringify(decide(input));
        expect(JSON.stringify(decide(input))).toBe(first);
        expect(JSON.stringify(decide(inputOf(given, on)))).toBe(first);
      }),
      { numRuns: runs(150) },
    );
  });

  test("removing a fact never turns a block into an approval, if no policy tests absence or skips unknowns", () => {
    fc.assert(
      fc.property(policies(failSafeSpec), situation, fc.nat(), (given, on, pick) => {
        const safe = { ...on, membrane: { ...on.membrane, thresholds: { escalate_at: null, block_at: null } } };
        const all = Object.entries((on.facts ?? {}) as Record<string, Record<string, unknown>>).flatMap(
          ([category, fields]) => Object.keys(fields).map((field) => [category, field] as const),
        );
        const removed = all[pick % Math.max(1, all.length)];
        fc.pre(removed !== undefined && decide(inputOf(given, safe)).content.verdict === "block");
        const [category, field] = removed ?? ["", ""];
        const fewer = structuredClone(on.facts) as Record<string, Record<string, unknown>>;
        delete fewer[category]?.[field];
        expect(["block", "escalate"]).toContain(decide(inputOf(given, { ...safe, facts: fewer })).content.verdict);
      }),
      { numRuns: runs(150) },
    );
  });

  test("a stale fact never loosens more than a missing or a fresh one, also with suppressions", () => {
    const silencing = fc.tuple(spec(["none"], ["fire", "skip"], false), spec(["block"], ["fire", "skip"], false));
    const at = (stale: readonly string[]) =>
      Object.fromEntries(categories.map((name) => [name, stale.includes(name) ? "2026-10-01T00:00:00Z" : noon]));
    fc.assert(
      fc.property(silencing, situation, fc.subarray(categories, { minLength: 1 }), ([first, second], on, stale) => {
        const given = [policy("a", { ...first, suppresses: ["b"] }), policy("b", second)];
        const rest = Object.entries(on.facts ?? {}).filter(([name]) => !stale.includes(name));
        const after = decide(inputOf(given, { ...on, as_of: at(stale) })).content.verdict;
        for (const facts of [on.facts ?? {}, Object.fromEntries(rest)]) {
          const before = decide(inputOf(given, { ...on, as_of: at([]), facts })).content.verdict;
          expect(stricter(after, before)).toBe(after);
        }
      }),
      { numRuns: runs(400) },
    );
  });

  test("any JSON intent gives a decision that JSON can represent", () => {
    // JSON.parse can return -0, which JSON.stringify does not preserve.
    const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    const content = fc.dictionary(fc.constantFrom("x", "y", "constructor", "toString", "human_reviewed"), json);
    const fact = fc.dictionary(fc.constantFrom("alert", "level", "tags", "recipient_local_hour"), fc.jsonValue());
    const hostile = fc.record({ security: fact, identity: fact, environmental: fact, regulatory: fact });
    fc.assert(
      fc.property(policies(anySpec), content, hostile, situation, (given, x, stored, on) => {
        const decided = decide(inputOf(given, { ...on, facts: stored, intent: { ...on.intent, content: x } }));
        expect(JSON.parse(JSON.stringify(decided))).toEqual(decided);
        expect(decided.content.risk_score).toBeGreaterThanOrEqual(0);
        expect(decided.content.risk_score).toBeLessThanOrEqual(1);
      }),
      { numRuns: runs(200) },
    );
  });

  test("a decision never mutates its input", () => {
    fc.assert(
      fc.property(policies(anySpec), situation, (given, on) => {
        const input = inputOf(given, on);
        const before = JSON.stringify([input.intent, input.facts, input.membrane]);
        decide(input);
        expect(JSON.stringify([input.intent, input.facts, input.membrane])).toBe(before);
      }),
      { numRuns: runs(150) },
    );
  });

  test("a shadow policy never changes what is decided", () => {
    fc.assert(
      fc.property(policies(anySpec), anySpec, situation, (given, added, on) => {
        const { policy_set: _, ...before } = decide(inputOf(given, on)).content;
        const { policy_set: __, ...after } = decide(
          inputOf([...given, policy("new-shadow", added, "shadow")], on),
        ).content;
        expect(after).toEqual(before);
      }),
      { numRuns: runs(150) },
    );
  });

  test("the hash of a policy set depends only on its content", () => {
    const [a, b] = ["a", "b"].map((name) => policySource({ name, spec: { when: "true", effect: "block" } }));
    if (a === undefined || b === undefined) throw new Error("no policies");
    const hash = (...all: (typeof a)[]): string => compilePolicySet({ policies: all, version: 1 }).sha256;
    expect(hash(b, a)).toBe(hash(a, b));
    expect(hash({ ...a, version: 2 }, b)).not.toBe(hash(a, b));
    expect(hash({ ...a, mode: "shadow" }, b)).not.toBe(hash(a, b));
    expect(hash(a)).not.toBe(hash(a, b));
  });
});
