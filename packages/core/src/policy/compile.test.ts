import { expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import { compilePolicySet } from "../deciding/policy-set.ts";
import { inputOf, policySource } from "../testing/deciding.ts";

test("an expression accepted by an earlier release but refused now is unknown, and other policies are evaluated", () => {
  const stored = policySource({ name: "stored", spec: { effect: "block", when: "false" } });
  const when = `action.verb.matches("(?i)[${"!-\uffff".repeat(60)}]")`;
  const document = { ...stored.document, spec: { ...stored.document.spec, when } };
  const other = policySource({ name: "other", spec: { effect: "none", when: "true", risk: { add: 0.5 } } });
  const policySet = compilePolicySet({ policies: [{ ...stored, document }, other], version: 1 });
  const { content } = decide({ ...inputOf([]), policySet });
  expect(content.verdict).toBe("escalate");
  expect(content.reasons).toMatchObject([
    { policy: "stored", effect: "escalate", unknown_facts: [{ reason: "this pattern does not compile" }] },
    { policy: "other", effect: "none" },
  ]);
});
