/** The laws of deciding over the real packs, all of them on at once. Source: policies.md §3; issue "policies", item 2. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "../packages/core/src/decide.ts";
import { type DecideInput, stricter } from "../packages/core/src/decision.ts";
import { mergeFacts } from "../packages/core/src/facts/merge.ts";
import { parsePack } from "../packages/core/src/packs/index.ts";
import type { PolicySource } from "../packages/core/src/policy/compile.ts";
import { plain_membrane } from "../packages/core/src/policy/run-tests.ts";
import { compilePolicySet, type PolicySet } from "../packages/core/src/policy-set.ts";
import { policySource } from "../packages/core/src/testing/deciding.ts";
import { parseTimestampUs } from "../packages/core/src/time.ts";

const root = fileURLToPath(new URL("../packs/", import.meta.url));
const packs = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => {
    const read = (...path: string[]): string => readFileSync(join(root, name, ...path), "utf8");
    const policies = new Map(readdirSync(join(root, name, "policies")).map((file) => [file, read("policies", file)]));
    const { pack } = parsePack({ folder: name, manifest: read("pack.yaml"), policies, cases: read("cases.jsonl") });
    if (pack === null) throw new Error(name);
    return pack;
  });
const sources = packs.flatMap((pack) =>
  pack.rules.map(
    (document): PolicySource => ({
      policy_id: `pack:${pack.name}/${document.metadata.name}`,
      version: 1,
      document,
      mode: "live",
      pack: pack.name,
    }),
  ),
);
const cases = packs.flatMap((pack) => pack.cases);
const all = compilePolicySet({ policies: sources, version: 1 });

type Case = (typeof cases)[number];

function inputOf(one: Case, policySet: PolicySet, facts: Case["facts"] = one.facts ?? {}): DecideInput {
  const now_us = parseTimestampUs(one.now) ?? 0;
  const document = { facts, as_of: one.as_of ?? {} } as never;
  return {
    intent: one.intent as never,
    facts: mergeFacts([{ source: "org", document, received_us: now_us }]),
    policySet,
    membrane: plain_membrane,
    mode: "live",
    now_us,
    attested: true,
  };
}

/** A case with the facts of another, so that situations arise that nobody thought of. */
const situation = fc.tuple(fc.constantFrom(...cases), fc.constantFrom(...cases)).map(([one, other]): Case => {
  const facts: Record<string, Record<string, unknown>> = {};
  for (const given of [other.facts ?? {}, one.facts ?? {}])
    for (const [category, fields] of Object.entries(given)) facts[category] = { ...facts[category], ...fields };
  return { ...one, facts };
});

test("the order of the rules never matters, and two runs give the same bytes", () => {
  const shuffled = compilePolicySet({ policies: [...sources].reverse(), version: 1 });
  fc.assert(
    fc.property(situation, (one) => {
      const first = JSON.stringify(decide(inputOf(one, all)));
      expect(JSON.stringify(decide(inputOf(one, all)))).toBe(first);
      expect(JSON.stringify(decide(inputOf(one, shuffled)))).toBe(first);
    }),
    { numRuns: 400 },
  );
  expect(shuffled.sha256).toBe(all.sha256);
});

test("a block policy on top never loosens a verdict", () => {
  const rule = fc.record({
    when: fc.constantFrom(
      "true",
      "action.type.startsWith('data.')",
      "facts.security.active_security_incident",
      "params.amount > 5",
    ),
    on_unknown: fc.constantFrom("fire", "escalate", "block", "skip"),
  });
  const sets = new Map<string, PolicySet>();
  fc.assert(
    fc.property(situation, rule, (one, spec) => {
      const key = JSON.stringify(spec);
      const added = policySource({ name: "added", spec: { ...spec, effect: "block" } });
      const more = sets.get(key) ?? compilePolicySet({ policies: [...sources, added], version: 1 });
      sets.set(key, more);
      const before = decide(inputOf(one, all)).content.verdict;
      const after = decide(inputOf(one, more)).content.verdict;
      expect(stricter(after, before)).toBe(after);
    }),
    { numRuns: 300 },
  );
});

test("facts that grow stale never loosen what a rule says, whichever of them do", () => {
  const sets = new Map(
    sources.map((source) => [source.document.metadata.name, compilePolicySet({ policies: [source], version: 1 })]),
  );
  const loosened: string[] = [];
  let tried = 0;
  for (const one of cases) {
    if (one.as_of !== undefined) continue;
    const set = sets.get(one.rule) as PolicySet;
    const fresh = decide(inputOf(one, set)).content.verdict;
    const categories = Object.keys(one.facts ?? {});
    for (let mask = 1; mask < 2 ** categories.length; mask += 1) {
      const old = categories.filter((_, at) => (mask >> at) & 1).map((name) => [name, "2020-01-01T00:00:00Z"]);
      const stale = decide(inputOf({ ...one, as_of: Object.fromEntries(old) }, set)).content.verdict;
      tried += 1;
      if (stricter(stale, fresh) !== stale) loosened.push(`${one.rule}, ${one.name}: ${fresh} became ${stale}`);
    }
  }
  expect(loosened).toEqual([]);
  expect(tried).toBeGreaterThan(500);
});

/** Facts whose removal turns a block of some case into an approval, with the rules that blocked. */
function turnedBy(given: readonly Case[], policySet: PolicySet): string[] {
  const turned = new Set<string>();
  for (const one of given) {
    const { content } = decide(inputOf(one, policySet));
    if (content.verdict !== "block") continue;
    for (const [category, fields] of Object.entries(one.facts ?? {}))
      for (const field of Object.keys(fields)) {
        const { [field]: _, ...rest } = fields;
        const after = decide(inputOf(one, policySet, { ...one.facts, [category]: rest })).content.verdict;
        if (!after.startsWith("approve")) continue;
        for (const { policy, effect } of content.reasons)
          if (effect === "block") turned.add(`${category}.${field}: ${policy}`);
      }
  }
  return [...turned].sort();
}

test("removing a fact never turns a block into an approval, with all packs on", () => {
  expect(turnedBy(cases, all)).toEqual([]);
});

test("with one pack on it does so only where the law itself asks whether something is known at all", () => {
  const turned = packs.flatMap((pack) =>
    turnedBy(
      pack.cases,
      compilePolicySet({ policies: sources.filter((source) => source.pack === pack.name), version: 1 }),
    ),
  );
  expect(turned).toMatchInlineSnapshot(`
    [
      "regulatory.ccpa_opt_out: ccpa.limit-sensitive",
      "regulatory.ccpa_opt_out: ccpa.resolicit-12-months",
      "environmental.network_segment: pci.segmentation",
      "security.privilege_escalation_alert: security.privilege-escalation",
      "security.prompt_injection_detected: security.prompt-injection",
    ]
  `);
});
