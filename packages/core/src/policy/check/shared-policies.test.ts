/** Compares decisions of sets with and without shared compilation. */
import { expect, test } from "vitest";
import { runs, sampleOf } from "../../../../../scripts/property-runs.ts";
import { decide } from "../../deciding/decide.ts";
import { compilePolicySet, policySetSteps } from "../../deciding/policy-set.ts";
import { decideTest } from "../../deciding/run-tests.ts";
import { packSources } from "../../packs/pack-sources.ts";
import { inputOf, policySource } from "../../testing/deciding.ts";
import { packNames, packOf } from "../../testing/packs.ts";
import { SharedPolicies } from "./shared-policies.ts";

const packs = new Map(packNames.map((name) => [name, packOf(name)]));
const cases = [...packs.values()].flatMap((pack) => pack.cases);

/** Own policies: with the variables of a pack, with others, and with new paths. */
function own(n: number) {
  const variables = [
    ...(packs.get(packNames[n % packNames.length] as string)?.rules[0]?.spec.variables ?? []),
    { name: `own_${n}`, expr: `facts.entity_state.tier_${n % 3} == "gold" || params.size() > ${n}` },
  ];
  return policySource({
    name: `own-${n}`,
    spec: { variables, when: `vars.own_${n} && action.verb != "${n}"`, effect: "none", risk: { add: 0.1 } },
  });
}

test("decisions are equal with and without sharing", () => {
  const shared = new SharedPolicies();
  const combinations = packNames
    .slice(0, Math.max(2, runs(4 * packNames.length)))
    .map((_, n) => packNames.filter((_, m) => (m * 7 + n * 3) % 5 < 2 || m === n));
  const made = combinations.map((names, n) => {
    const policies = [...packSources(packs, names), own(n), own(n + 1)];
    return { together: compilePolicySet({ policies, version: 1, shared }), alone: { policies, version: 1 } };
  });
  let fired = 0;
  made.forEach(({ together, alone }, n) => {
    const by_itself = compilePolicySet(alone);
    expect(together.sha256).toBe(by_itself.sha256);
    sampleOf(cases).forEach((one, m) => {
      if (m % 4 !== n % 4) return;
      const decided = decideTest({ ...one, expect: {} }, together);
      expect(decided, one.name).toEqual(decideTest({ ...one, expect: {} }, by_itself));
      fired += decided.content.reasons.length;
    });
  });
  expect(fired).toBeGreaterThan(runs(50) * made.length);
});

test("a set does not contain policies that another set compiles meanwhile", () => {
  const shared = new SharedPolicies();
  const rule = (name: string, pack: string | null, variable: string) =>
    policySource({
      ...{ name, ...(pack === null ? {} : { pack }) },
      spec: { variables: [{ name: "v", expr: variable }], when: "vars.v", effect: "none", risk: { add: 0.1 } },
    });
  const first = Array.from({ length: 8 }, (_, n) => rule(`first-${n}`, "first", "params.a == 1.0"));
  const own = [rule("own-1", null, "params.b == 1.0"), rule("own-2", null, "params.c == 1.0")];
  const steps = policySetSteps({ policies: [...first, ...own], version: 1, shared });
  // Two steps for the pack: compiling and placing.
  expect([steps.next().done, steps.next().done]).toEqual([false, false]);
  compilePolicySet({ policies: [rule("second", "second", "params.c == 1.0")], version: 1, shared });
  const { done, value: policySet } = steps.next();
  if (done !== true) throw new Error("there are two policies left");
  const fired = (content: Record<string, number>) =>
    decide({ ...inputOf([], { intent: { content } }), policySet }).content.reasons.map(({ policy }) => policy);
  expect(fired({ a: 0, b: 1, c: 0 })).toEqual(["own-1"]);
  expect(fired({ a: 0, b: 0, c: 1 })).toEqual(["own-2"]);
});

test("own policies are not shared, and an error in one set does not affect others", () => {
  const shared = new SharedPolicies();
  const rule = (when: string, pack: string | null) => {
    const source = policySource({ name: "rule", spec: { when: "true", effect: "block" } });
    return { ...source, pack, document: { ...source.document, spec: { ...source.document.spec, when } } };
  };
  const of = (...policies: ReturnType<typeof rule>[]) => compilePolicySet({ policies, version: 1, shared });
  expect(() => of(rule("params.", "p"))).toThrow();
  const [pack_rule, own_rule] = [rule("params.n > 1.0", "p"), rule("params.n > 2.0", null)];
  const [a, b] = [of(pack_rule, own_rule), of(pack_rule, own_rule)];
  const places = (set: typeof a) => new Map(set.live.placed.map(({ policy }) => [policy.pack, policy]));
  expect(places(a).get("p")).toBe(places(b).get("p"));
  expect(places(a).get(null)).not.toBe(places(b).get(null));
  const verdict = (n: number) =>
    decide({ ...inputOf([], { intent: { content: { n } } }), policySet: a }).content.reasons;
  expect([1, 2, 3].map((n) => verdict(n).length)).toEqual([0, 1, 2]);
});
