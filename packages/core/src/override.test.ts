import { describe, expect, test } from "vitest";
import { decide } from "./decide.ts";
import { overrideTerms } from "./override.ts";
import { inputOf, type TestCase, type TestPolicy } from "./testing/deciding.ts";

const rule = (name: string, effect: string, override?: string): TestPolicy => ({
  name,
  spec: { when: "true", effect, ...(override === undefined ? {} : { override }) },
});

function terms(policies: readonly TestPolicy[], given: TestCase = {}) {
  const input = inputOf(policies, given);
  return overrideTerms(decide(input).content.reasons, input.policySet);
}

describe("what an override takes", () => {
  test("one person, unless a policy asks for two", () => {
    expect(terms([rule("a", "block"), rule("b", "escalate", "reviewer")])).toEqual({
      kind: "allowed",
      people: 1,
      lifts: ["pol_a", "pol_b"],
    });
    expect(terms([rule("a", "block"), rule("b", "block", "two_person")])).toMatchObject({ kind: "allowed", people: 2 });
  });

  test("nobody may where a policy says never, and it is named", () => {
    expect(terms([rule("a", "block", "two_person"), rule("b", "block", "never")])).toEqual({
      kind: "forbidden",
      policies: ["b"],
    });
  });

  test("what it lifts makes the next retry approved, the membrane's own say included", () => {
    const membrane = { default_verdict: "block" as const, thresholds: { escalate_at: 0.1, block_at: 0.2 } };
    const policies = [
      { name: "a", spec: { when: "true", effect: "block", risk: { add: 0.9 } } },
      { name: "b", spec: { when: "params.none", effect: "escalate" } },
    ];
    const allowed = terms(policies, { membrane });
    expect(allowed.kind).toBe("allowed");
    const overrides = allowed.kind === "allowed" ? allowed.lifts : [];
    expect(decide(inputOf(policies, { membrane, overrides })).content.verdict).toBe("approve");
  });
});
