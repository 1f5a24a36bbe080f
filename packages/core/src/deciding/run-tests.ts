import { type FactCategoryName, limits } from "@countersign/contract";
import { mergeFacts } from "../facts/merge.ts";
import type { PolicyDocument, PolicyTestCase } from "../policy/document.ts";
import { finish } from "../policy/expressions.ts";
import { parseTimestampUs } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { decide } from "./decide.ts";
import type { DecidableIntent, Decided, MembraneSettings } from "./decision.ts";
import { compilePolicySet, type PolicySet } from "./policy-set.ts";
import { fourDecimals } from "./risk.ts";

/** What became of one case beside a policy; `mismatches` is empty when it passed. */
export interface PolicyTestResult {
  readonly name: string;
  readonly passed: boolean;
  readonly mismatches: readonly { readonly field: string; readonly expected: unknown; readonly actual: unknown }[];
}

/** The clock of a case that names none. */
const default_test_now = "2026-01-01T12:00:00Z";

/** A membrane that adds nothing of its own: what is not asked for is approved, whatever the risk. */
export const plain_membrane: MembraneSettings = {
  default_verdict: "approve",
  thresholds: { escalate_at: null, block_at: null },
  action_catalogue: [],
  facts_max_age: {},
  escalation: {
    timeout_seconds: limits.escalation_timeout_seconds_default,
    on_timeout: "block",
    reviewers: [],
    quorum: 1,
  },
};

/**
 * Runs the cases beside a policy, each against the policy alone in a membrane that adds nothing of its own. A
 * submitter's claims count as attested, since a case stands for what the rule does and not for who may say so. The
 * document must have passed `checkPolicy`.
 * Source: policies.md §2 "tests".
 */
export function runPolicyTests(document: PolicyDocument): PolicyTestResult[] {
  return finish(policyTestSteps(document));
}

/** The same in steps: one for each case. */
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

/** Runs one case against a policy set of any size. */
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
  compare("fired", fired && [...fired].sort(), [...new Set(content.reasons.map((reason) => reason.policy))].sort());
  compare("risk", risk === undefined ? undefined : fourDecimals(risk), content.risk_score);
  compare("modified_content", modified_content, content.modified_content);
  const paths = content.reasons.flatMap((reason) => reason.unknown_facts.map((fact) => fact.path));
  compare("unknown_facts", unknown_facts && [...unknown_facts].sort(), [...new Set(paths)].sort());
  return { name: test.name, passed: mismatches.length === 0, mismatches };
}

/** The decision that a case asks for. */
export function decideTest(test: PolicyTestCase, policySet: PolicySet): Decided {
  const now_us = parseTimestampUs(test.now ?? default_test_now) ?? 0;
  const facts = (test.facts ?? {}) as Partial<Record<FactCategoryName, Record<string, unknown>>>;
  return decide({
    intent: test.intent as unknown as DecidableIntent,
    facts: mergeFacts([{ source: "org", document: { facts, as_of: test.as_of ?? {} }, received_us: now_us }]),
    policySet,
    membrane: plain_membrane,
    mode: test.mode ?? "live",
    now_us,
    attested: true,
    human_reviewed: test.human_reviewed ?? false,
  });
}
