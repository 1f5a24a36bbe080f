import { actionTypes, dataClasses, factCategories } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { decide } from "../../packages/core/src/deciding/decide.ts";
import { compilePolicySet } from "../../packages/core/src/deciding/policy-set.ts";
import { plainMembrane } from "../../packages/core/src/deciding/run-tests.ts";
import { mergeFacts } from "../../packages/core/src/facts/merge.ts";
import { accountFacts, quickstartPacks, startingFacts } from "../../packages/core/src/onboarding/intake.ts";
import {
  actionCoverage,
  factCoverage,
  loadPack,
  parsePack,
  runPackCases,
} from "../../packages/core/src/packs/index.ts";
import { packSources } from "../../packages/core/src/packs/pack-sources.ts";
import { packFiles, packNames, packOf, packText } from "../../packages/core/src/testing/packs.ts";

const PACKS = packNames.map((folder) => parsePack(packFiles(folder)));
const RULES = PACKS.flatMap(({ pack }) => pack?.rules ?? []);

test("the 19 packs contain the catalogue's 115 rules and those of provenance, limits and coding", () => {
  expect(PACKS.flatMap(({ diagnostics }) => diagnostics)).toEqual([]);
  expect(packNames).toHaveLength(19);
  const counts = Object.fromEntries(PACKS.map(({ pack }) => [pack?.name, pack?.rules.length]));
  expect(counts).toEqual({
    account: 3,
    ai: 7,
    ccpa: 8,
    cmmc: 6,
    coding: 19,
    csf: 5,
    fedramp: 6,
    ferpa: 7,
    gdpr: 10,
    hipaa: 12,
    iam: 11,
    limits: 8,
    meta: 1,
    mon: 3,
    pci: 9,
    provenance: 4,
    security: 4,
    sox: 7,
    tcpa: 16,
  });
});

test("quickstart switches on exactly security and meta", () => {
  expect(PACKS.flatMap(({ pack }) => (pack?.on_at_quickstart ? [pack.name] : []))).toEqual(["meta", "security"]);
  expect([...quickstartPacks].sort()).toEqual(["meta", "security"]);
});

describe("without any facts", () => {
  const decided = (names: readonly string[], security: Readonly<Record<string, unknown>> = {}) => {
    const policies = packSources(new Map(names.map((name) => [name, packOf(name)])), names);
    const policySet = compilePolicySet({ policies, version: 1 });
    return Object.keys(actionTypes).map((type) => {
      const intent = { agent: { id: "a" }, action: { type, verb: type }, payload: { content: { amount_usd: 5 } } };
      const document = { contract_version: "1" as const, facts: { security } };
      const facts = mergeFacts([{ source: "inline", document, received_us: 0 }]);
      return {
        type,
        ...decide({ intent, facts, policySet, membrane: plainMembrane, mode: "live", now_us: 0 }).content,
      };
    });
  };
  const missingIn = (decisions: ReturnType<typeof decided>) =>
    [
      ...new Set(
        decisions.flatMap(({ reasons }) => reasons.flatMap((each) => each.unknown_facts.map(({ path }) => path))),
      ),
    ].sort();

  test("the starting packs block nothing, hold all payments, and miss exactly the facts that quickstart names", () => {
    const decisions = decided(quickstartPacks);
    expect(decisions.filter(({ verdict }) => verdict === "block")).toEqual([]);
    const payments = decisions.filter(({ type }) => type.startsWith("payment."));
    expect(payments.map(({ verdict }) => verdict)).toEqual(payments.map(() => "escalate"));
    expect(missingIn(decisions)).toEqual(startingFacts.map((fact) => `facts.${fact}`));
  });

  test("payments pass once those facts are good, with an unknown account, unless the pack account is active", () => {
    const security = Object.fromEntries(startingFacts.map((fact) => [fact.replace("security.", ""), false]));
    const payments = (names: readonly string[]) =>
      decided(names, security).flatMap(({ type, verdict }) => (type.startsWith("payment.") ? [verdict] : []));
    expect(new Set(payments(quickstartPacks))).toEqual(new Set(["approve"]));
    expect(new Set(payments([...quickstartPacks, "account"]))).toEqual(new Set(["block"]));
  });

  test("the pack account blocks payments, and misses exactly the facts that quickstart names", () => {
    const decisions = decided(["account"]);
    expect(decisions.filter(({ verdict }) => verdict === "block").map(({ type }) => type)).toContain(
      "payment.transfer",
    );
    expect(missingIn(decisions)).toEqual(accountFacts.map((fact) => `facts.${fact}`));
  });
});

describe.each(packNames)("the pack %s", (folder) => {
  const files = packFiles(folder);
  const { pack } = parsePack(files);

  test("has no failing case", () => {
    const results = pack === null ? [] : runPackCases(pack);
    const red = results.filter(({ failure }) => failure !== null);
    expect(red.map(({ case: one, failure }) => `${one.rule}, ${one.name}: ${failure}`)).toEqual([]);
    expect(loadPack(files).pack).not.toBeNull();
  });

  test("has a passing and a failing case for every rule", () => {
    for (const rule of pack?.rules ?? []) {
      const expected = (pack?.cases ?? []).filter((one) => one.rule === rule.metadata.name).map((one) => one.expect);
      expect(expected, rule.metadata.name).toContain("approve");
      expect(
        expected.some((verdict) => verdict !== "approve"),
        rule.metadata.name,
      ).toBe(true);
    }
  });

  test("gives every rule's subject, reason, severity and place in the law", () => {
    for (const { metadata, spec } of pack?.rules ?? []) {
      expect(metadata.citations?.length, metadata.name).toBeGreaterThan(0);
      expect(metadata.title, metadata.name).toBeTruthy();
      expect(metadata.severity, metadata.name).toBeTruthy();
      expect(metadata.tags, metadata.name).toEqual([folder]);
      expect(spec.message, metadata.name).toBeTruthy();
      expect(spec.on_unknown, metadata.name).toBeTruthy();
      expect(spec.override, metadata.name).toBeTruthy();
      expect(spec.risk?.add, metadata.name).toBeGreaterThan(0);
    }
  });

  test("has a README with every rule, its citations, and a note that it is no legal advice", () => {
    const readme = packText(folder, "README.md");
    expect(readme).toContain("A starting point for counsel, not legal advice.");
    expect(pack?.description).toContain("A starting point for counsel, not legal advice.");
    for (const { metadata } of pack?.rules ?? []) {
      const row = readme.split("\n").find((line) => line.startsWith(`| \`${metadata.name}\` |`));
      expect(row, metadata.name).toContain(metadata.title ?? "");
      for (const citation of metadata.citations ?? []) expect(row, metadata.name).toContain(citation);
    }
  });
});

test("every fact that the contract lists is read by some rule", () => {
  const coverage = factCoverage(RULES);
  const listed = Object.values(factCategories).flatMap((category) =>
    category.fields.map((field) => `${category.name}.${field.name}`),
  );
  expect(coverage.size).toBe(85);
  expect([...coverage.keys()]).toEqual(listed);
  expect([...coverage].filter(([, rules]) => rules.length === 0).map(([path]) => path)).toEqual([]);
});

test("every action type and data class that the contract lists is named by some rule, and rules name no other", () => {
  const { types, classes, params } = actionCoverage(RULES);
  expect([...types.keys()]).toEqual(Object.keys(actionTypes));
  expect([...classes.keys()]).toEqual(Object.keys(dataClasses));
  for (const [name, rules] of [...types, ...classes, ...params]) expect(rules.length, name).toBeGreaterThan(0);
  const isListed = (pattern: string) =>
    [...types.keys()].some((type) =>
      pattern.endsWith("*") ? type.startsWith(pattern.slice(0, -1)) : type === pattern,
    );
  const named = RULES.flatMap(({ spec }) => [...(spec.match?.actions ?? []), ...(spec.match?.exclude?.actions ?? [])]);
  expect(named.filter((pattern) => !isListed(pattern))).toEqual([]);
});
