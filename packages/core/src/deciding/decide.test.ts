import { describe, expect, test } from "vitest";
import { checkPolicy } from "../policy/check/check.ts";
import { runPolicyTests } from "./run-tests.ts";

const wire = `
apiVersion: countersign/v1
kind: Policy
metadata: {name: wire-over-delegation, title: Wires above the agent's limit, tags: [payments], severity: high,
           citations: [], effective_from: 2026-01-01T00:00:00Z}
spec:
  match: {actions: ["payment.transfer", "payment.*"], verbs: [], agents: [], exclude: {actions: []}}
  variables: [{name: limit, expr: facts.organizational.delegation_limit_usd}]
  when: params.amount_usd > vars.limit
  effect: escalate
  on_unknown: escalate
  risk: {add: 0.4, group: amount}
  override: reviewer
  facts_max_age: {organizational: 24h}
  message: "Amount {{params.amount_usd}} exceeds the limit {{vars.limit}}"
  escalation: {reviewers: [role:operator], quorum: 1, timeout: 4h, on_timeout: block}
tests:
  - name: over the limit
    now: 2026-01-01T12:00:00Z
    intent: {agent: {id: a}, action: {type: payment.transfer, verb: send}, payload: {content: {amount_usd: 500}}}
    facts: {organizational: {delegation_limit_usd: 100}}
    expect: {verdict: escalate, fired: [wire-over-delegation], risk: 0.4}
  - name: below the limit
    intent: {agent: {id: a}, action: {type: payment.transfer, verb: send}, payload: {content: {amount_usd: 50}}}
    facts: {organizational: {delegation_limit_usd: 100}}
    expect: {verdict: approve, fired: [], risk: 0}
  - name: limit unknown
    intent: {agent: {id: a}, action: {type: payment.transfer, verb: send}, payload: {content: {amount_usd: 50}}}
    expect: {verdict: escalate, risk: 0.2, unknown_facts: [facts.organizational.delegation_limit_usd]}
`;

describe("decide", () => {
  test("the policy of the documentation passes its own tests", () => {
    const checked = checkPolicy(wire);
    expect(checked).toMatchObject({ diagnostics: [], warnings: [] });
    if (checked.document === null) throw new Error("no document");
    expect(runPolicyTests(checked.document)).toEqual([
      { name: "over the limit", passed: true, mismatches: [] },
      { name: "below the limit", passed: true, mismatches: [] },
      { name: "limit unknown", passed: true, mismatches: [] },
    ]);
  });
});
