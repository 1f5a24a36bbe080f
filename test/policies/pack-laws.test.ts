/** Laws of deciding with all real packs active. Source: docs/reference/policies.md. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "../../packages/core/src/deciding/decide.ts";
import { type DecideInput, stricter } from "../../packages/core/src/deciding/decision.ts";
import { compilePolicySet, type PolicySet } from "../../packages/core/src/deciding/policy-set.ts";
import { plainMembrane } from "../../packages/core/src/deciding/run-tests.ts";
import { mergeFacts } from "../../packages/core/src/facts/merge.ts";
import type { PolicySource } from "../../packages/core/src/policy/compile.ts";
import { policySource } from "../../packages/core/src/testing/deciding.ts";
import { packNames, packOf, packText } from "../../packages/core/src/testing/packs.ts";
import { parseTimestampUs } from "../../packages/core/src/time.ts";
import { runs, sampleOf } from "../../scripts/property-runs.ts";

const packs = packNames.map(packOf);
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
    membrane: plainMembrane,
    mode: "live",
    now_us,
    attested: true,
  };
}

/** Returns a case with the other case's facts where it has none. */
function under(one: Case, other: Case): Case {
  const facts: Record<string, Record<string, unknown>> = {};
  for (const given of [other.facts ?? {}, one.facts ?? {}])
    for (const [category, fields] of Object.entries(given)) facts[category] = { ...facts[category], ...fields };
  return { ...one, facts };
}

/** Mixes the facts of two cases, to reach untested situations. */
const situation = fc
  .tuple(fc.constantFrom(...cases), fc.constantFrom(...cases))
  .map(([one, other]) => under(one, other));

test("the order of the rules never matters, and two runs give the same bytes", () => {
  const shuffled = compilePolicySet({ policies: [...sources].reverse(), version: 1 });
  fc.assert(
    fc.property(situation, (one) => {
      const first = JSON.stringify(decide(inputOf(one, all)));
      expect(JSON.stringify(decide(inputOf(one, all)))).toBe(first);
      expect(JSON.stringify(decide(inputOf(one, shuffled)))).toBe(first);
    }),
    { numRuns: runs(400) },
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
    { numRuns: runs(300) },
  );
});

test("stale facts never loosen a rule, whichever facts are stale", () => {
  const sets = new Map(
    sources.map((source) => [source.document.metadata.name, compilePolicySet({ policies: [source], version: 1 })]),
  );
  const loosened: string[] = [];
  let tried = 0;
  for (const one of sampleOf(cases)) {
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
  expect(tried).toBeGreaterThan(runs(500) / 2);
});

test("emergency access passes the rules that break-glass suppresses, and is reviewed", () => {
  const hipaa = compilePolicySet({ policies: sources.filter(({ pack }) => pack === "hipaa"), version: 1 });
  const emergency = cases.find(({ rule, name }) => rule === "hipaa.break-glass" && name === "emergency read") as Case;
  const content = { emergency: true, record_count: 60 };
  const facts = { regulatory: emergency.facts?.["regulatory"] ?? {}, environmental: { channel_encryption: true } };
  const one = { ...emergency, facts, intent: { ...emergency.intent, payload: { content } } };
  expect(decide(inputOf(one, hipaa)).content).toMatchObject({
    verdict: "approve_modified",
    modified_content: { ...content, post_review: true, notify_privacy_officer: true },
  });
  const no_emergency = { ...one, intent: { ...one.intent, payload: { content: { record_count: 60 } } } };
  expect(decide(inputOf(no_emergency, hipaa)).content.verdict).toBe("escalate");
});

/** Every case alone, and with the facts of each other case of its rule. */
const crossed = cases.flatMap((one) => cases.filter(({ rule }) => rule === one.rule).map((other) => under(one, other)));

type Facts = readonly (readonly [category: string, field: string, value: unknown])[];

function listed(facts: Case["facts"]): Facts {
  return Object.entries(facts).flatMap(([category, fields]) =>
    Object.entries(fields).map(([field, value]) => [category, field, value] as const),
  );
}

function nested(facts: Facts): Record<string, Record<string, unknown>> {
  const all: Record<string, Record<string, unknown>> = {};
  for (const [category, field, value] of facts) all[category] = { ...all[category], [field]: value };
  return all;
}

function verdictOn(one: Case, policySet: PolicySet, fresh: Facts, stale: Facts): string {
  const now_us = parseTimestampUs(one.now) ?? 0;
  const old = nested(stale);
  const as_of = Object.fromEntries(Object.keys(old).map((category) => [category, "2020-01-01T00:00:00Z"]));
  const facts = mergeFacts([
    { source: "org", document: { facts: nested(fresh), as_of: {} } as never, received_us: now_us },
    { source: "agent", document: { facts: old, as_of } as never, received_us: now_us },
  ]);
  return decide({ ...inputOf(one, policySet), facts }).content.verdict;
}

/** Tries every choice of stale facts among the first six of a case. Reports approvals that need a stale fact. */
function approvedThoughStale(one: Case, policySet: PolicySet): string[] {
  const facts = listed(one.facts).slice(0, 6);
  const chosen = (mask: number) => facts.filter((_, at) => (mask >> at) & 1);
  const every = 2 ** facts.length - 1;
  const known = Array.from({ length: every + 1 }, (_, mask) => verdictOn(one, policySet, chosen(mask), []));
  const found: string[] = [];
  for (let stale = 1; stale <= every; stale += 1) {
    const rest = every & ~stale;
    if (verdictOn(one, policySet, chosen(rest), chosen(stale)) !== "approve") continue;
    for (let present = stale; ; present = (present - 1) & stale) {
      if (known[rest | present] !== "approve")
        found.push(`${one.rule} on ${JSON.stringify(one.facts)}, stale: ${JSON.stringify(chosen(stale))}`);
      if (present === 0) break;
    }
  }
  return found;
}

const alone = new Map(
  sources.map((source) => [source.document.metadata.name, compilePolicySet({ policies: [source], version: 1 })]),
);

test("a rule approves with stale facts only if it would with each of them fresh or missing", () => {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const one of sampleOf(crossed)) {
    const key = JSON.stringify([one.rule, one.intent, one.now, one.facts]);
    if (seen.has(key)) continue;
    seen.add(key);
    found.push(...approvedThoughStale(one, alone.get(one.rule) as PolicySet));
  }
  expect(found).toEqual([]);
  expect(seen.size).toBeGreaterThan(runs(1_000) / 2);
});

test("the same is true if stale facts say whether the rule's law applies, together with other stale facts", () => {
  const found = new Set<string>();
  let tried = 0;
  for (const one of sampleOf(cases)) {
    const { document } = sources.find((source) => source.document.metadata.name === one.rule) as PolicySource;
    const name = /framework\(facts, "(\w+)"\)/.exec(JSON.stringify(document.spec).replaceAll("\\", ""))?.[1];
    if (name === undefined) continue;
    for (const applicable_frameworks of [[name], { [name]: "not_applicable" }]) {
      tried += 1;
      const regulatory = { applicable_frameworks, ...one.facts["regulatory"] };
      const given = { ...one, facts: { ...one.facts, regulatory } };
      if (approvedThoughStale(given, alone.get(one.rule) as PolicySet).length > 0) found.add(one.rule);
    }
  }
  expect([...found]).toEqual([]);
  expect(tried).toBeGreaterThan(runs(500) / 2);
});

test("the same is true for a legal basis under GDPR, whatever is said about the applicability of GDPR", () => {
  const found: string[] = [];
  let tried = 0;
  const frameworks = [undefined, { gdpr: "yes" }, { privacy: { GDPR: "not_applicable" } }, ["gdpr"], ["hipaa"], "junk"];
  for (const applicable_frameworks of frameworks)
    for (const gdpr_legal_basis of [undefined, "contract", "because", null, 5])
      for (const gdpr_consent of [undefined, { status: "granted" }])
        for (const data_classes of [[], ["personal"], ["non_personal"], ["personal", "non_personal"]])
          for (const type of ["data.read", "other.noop"]) {
            const given = { regulatory: { applicable_frameworks, gdpr_consent }, organizational: { gdpr_legal_basis } };
            const one = {
              rule: "gdpr.lawful-basis",
              now: "2026-11-18T18:00:00Z",
              intent: { agent: { id: "a" }, action: { type, verb: "v" }, data_classes },
              facts: nested(listed(given).filter(([, , value]) => value !== undefined)),
            } as unknown as Case;
            tried += 1;
            found.push(...approvedThoughStale(one, alone.get(one.rule) as PolicySet));
          }
  expect(found).toEqual([]);
  expect(tried).toBe(6 * 5 * 2 * 4 * 2);
});

/** Lists facts whose removal turns a block into an approval, with the blocking rules. */
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
  expect(turnedBy(sampleOf(crossed), all)).toEqual([]);
});

/**
 * Rules that accept unknown facts on purpose, when their pack is alone. Each pack's README explains why:
 * - security: mail is sent if alerts are unknown.
 * - ccpa: a person who never refused has no record.
 * - pci: the rule applies only if the fact names the cardholder data environment.
 */
const where_nothing_known_is_no_reason = [
  "environmental.network_segment: pci.segmentation",
  "regulatory.ccpa_opt_out: ccpa.limit-sensitive",
  "regulatory.ccpa_opt_out: ccpa.resolicit-12-months",
  "security.privilege_escalation_alert: security.privilege-escalation",
  "security.prompt_injection_detected: security.prompt-injection",
];

test("with one pack active, removing a fact approves only if the law itself asks whether it is known", () => {
  const turned = packs.flatMap((pack) =>
    turnedBy(
      pack.cases,
      compilePolicySet({ policies: sources.filter((source) => source.pack === pack.name), version: 1 }),
    ),
  );
  expect(turned.sort()).toEqual(where_nothing_known_is_no_reason);
  for (const rule of turned.map((each) => each.split(": ")[1] as string)) {
    const readme = packText(rule.split(".")[0] as string, "README.md");
    expect(readme.split("## Notes")[1], rule).toContain(`\`${rule}\``);
  }
});

test("an empty state does not satisfy the calling hours of every state", () => {
  const one = cases.find(({ rule }) => rule === "tcpa.state-hours") as Case;
  const facts = { environmental: { recipient_local_hour: 18, recipient_state: "" } };
  expect(decide(inputOf({ ...one, facts }, alone.get(one.rule) as PolicySet)).content.verdict).toBe("block");
});
