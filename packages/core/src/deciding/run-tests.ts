import { type FactCategoryName, limits } from "@countersign/contract";
import { microsOf } from "../counters/amount.ts";
import type { CountSource } from "../counters/counting.ts";
import { mergeFacts } from "../facts/merge.ts";
import type { PolicyDocument, PolicyTestCase } from "../policy/document.ts";
import { finish } from "../policy/expressions.ts";
import { parseTimestampUs } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { decide } from "./decide.ts";
import type { DecidableIntent, Decided, MembraneSettings } from "./decision.ts";
import { compilePolicySet, type PolicySet } from "./policy-set.ts";
import { fourDecimals } from "./risk.ts";

/** `mismatches` is empty if the case passed. */
export interface PolicyTestResult {
  readonly name: string;
  readonly passed: boolean;
  readonly mismatches: readonly { readonly field: string; readonly expected: unknown; readonly actual: unknown }[];
}

const default_test_now = "2026-01-01T12:00:00Z";

/** Approves everything that no policy stops, whatever the risk. */
export const plainMembrane: MembraneSettings = {
  default_verdict: "approve",
  thresholds: { escalate_at: null, block_at: null },
  action_catalogue: [],
  facts_max_age: {},
  facts_from: {},
  escalation: {
    timeout_seconds: limits.escalation_timeout_seconds_default,
    on_timeout: "block",
    reviewers: [],
    quorum: 1,
  },
};

/**
 * Tests only this policy, in `plainMembrane`, with attested claims and verified facts. The document must have passed
 * `checkPolicy`.
 */
export function runPolicyTests(document: PolicyDocument): PolicyTestResult[] {
  return finish(policyTestSteps(document));
}

export function* policyTestSteps(document: PolicyDocument): Generator<void, PolicyTestResult[]> {
  const policySet = compilePolicySet({
    policies: [{ policy_id: "pol_test", version: 1, document, mode: "live" }],
    version: 1,
  });
  const results: PolicyTestResult[] = [];
  for (const test of document.tests ?? []) {
    yield;
    results.push(runPolicyTest(test, policySet));
  }
  return results;
}

function runPolicyTest(test: PolicyTestCase, policySet: PolicySet): PolicyTestResult {
  const decided = decideTest(test, policySet);
  const mismatches: { field: string; expected: unknown; actual: unknown }[] = [];
  const compare = (field: string, expected: unknown, actual: unknown): void => {
    if (expected !== undefined && canonicalJson(expected) !== canonicalJson(actual))
      mismatches.push({ field, expected, actual });
  };
  const { verdict, fired, risk, modified_content, unknown_facts } = test.expect;
  const { content } = decided;
  compare("verdict", verdict, content.verdict);
  const rules = content.reasons.filter(({ policy_id }) => policy_id !== null).map(({ policy }) => policy);
  compare("fired", fired && [...fired].sort(), [...new Set(rules)].sort());
  compare("risk", risk === undefined ? undefined : fourDecimals(risk), content.risk_score);
  compare("modified_content", modified_content, content.modified_content);
  const paths = content.reasons.flatMap((reason) => reason.unknown_facts.map((fact) => fact.path));
  compare("unknown_facts", unknown_facts && [...unknown_facts].sort(), [...new Set(paths)].sort());
  return { name: test.name, passed: mismatches.length === 0, mismatches };
}

/** Gives the case its earlier actions by name, whatever their keys are. */
function countsOfTest({ counts = {}, after = {} }: PolicyTestCase): CountSource {
  return {
    read: ({ kind, name }, _key, own) => {
      const bare = name.slice(name.indexOf(".") + 1);
      const { n = 0, sum = 0 } = kind === "count" ? (counts[bare] ?? {}) : {};
      const earlier = kind === "after" ? after[bare] : undefined;
      const last = earlier === undefined ? null : { intent_id: earlier.id, at_us: parseTimestampUs(earlier.at) ?? 0 };
      const distinct = Object.fromEntries(Object.keys(own).map((field) => [field, { n, has_own: false }]));
      return { n, micros: microsOf(sum), since_us: 0, last, distinct };
    },
  };
}

export function decideTest(test: PolicyTestCase, policySet: PolicySet): Decided {
  const now_us = parseTimestampUs(test.now ?? default_test_now) ?? 0;
  const facts = (test.facts ?? {}) as Partial<Record<FactCategoryName, Record<string, unknown>>>;
  return decide({
    intent: test.intent as unknown as DecidableIntent,
    facts: mergeFacts([
      { source: "org", document: { facts, as_of: test.as_of ?? {} }, received_us: now_us, assurance: "verified" },
    ]),
    policySet,
    membrane: plainMembrane,
    mode: test.mode ?? "live",
    now_us,
    attested: true,
    human_reviewed: test.human_reviewed ?? false,
    counts: countsOfTest(test),
  });
}
