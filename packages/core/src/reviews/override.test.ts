import { describe, expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import { inputOf, type TestCase, type TestPolicy } from "../testing/deciding.ts";
import { overrideTerms } from "./override.ts";

const admin = { type: "role" as const, id: "admin" };

const rule = (name: string, effect: string, override?: string): TestPolicy => ({
  name,
  spec: { when: "true", effect, ...(override === undefined ? {} : { override }) },
});

function terms(policies: readonly TestPolicy[], given: TestCase = {}) {
  const input = inputOf(policies, given);
  return overrideTerms(decide(input).content.reasons, input.policySet, input.membrane.escalation);
}

describe("the requirements of an override", () => {
  test("one person, unless a policy asks for two", () => {
    expect(terms([rule("a", "block"), rule("b", "escalate", "reviewer")])).toEqual({
      kind: "allowed",
      people: 1,
      demands: [{ policy: "b", policy_id: "pol_b", reviewers: [], quorum: 1 }],
      policies: ["a", "b"],
      lifts: ["pol_a", "pol_b"],
    });
    expect(terms([rule("a", "block"), rule("b", "block", "two_person")])).toMatchObject({ kind: "allowed", people: 2 });
  });

  test("is forbidden by a policy with never, which is named", () => {
    expect(terms([rule("a", "block", "two_person"), rule("b", "block", "never")])).toEqual({
      kind: "forbidden",
      policies: ["b"],
    });
  });

  test("needs reviewers of the holding policies, and two of them if a policy needs several", () => {
    const held = (escalation: object): TestPolicy => ({
      name: "h",
      spec: { when: "true", effect: "escalate", escalation },
    });
    const admins = [{ type: "role", id: "admin" }];
    expect(terms([rule("a", "block"), held({ reviewers: ["role:admin"] })])).toMatchObject({
      people: 1,
      demands: [{ policy: "h", reviewers: admins, quorum: 1 }],
    });
    expect(terms([rule("a", "block"), held({ quorum: 2 })])).toMatchObject({
      people: 2,
      demands: [{ policy: "h", reviewers: [], quorum: 2 }],
    });
    const blocking = { name: "h", spec: { when: "true", effect: "block", escalation: { quorum: 2 } } };
    expect(terms([rule("a", "block"), blocking])).toMatchObject({ people: 1, demands: [] });
  });

  test("needs reviewers of the membrane if the membrane holds or blocks the action", () => {
    const escalation = { timeout_seconds: 60, on_timeout: "block" as const, reviewers: [admin], quorum: 2 };
    const demands = [{ policy: "membrane.escalation", reviewers: [admin], quorum: 2 }];
    for (const default_verdict of ["escalate", "block"] as const)
      expect(terms([rule("a", "block")], { membrane: { default_verdict, escalation } })).toMatchObject({
        people: 2,
        demands,
      });
    expect(terms([rule("a", "block")], { membrane: { escalation } })).toMatchObject({ people: 1, demands: [] });
    expect(terms([rule("a", "block"), rule("h", "escalate")], { membrane: { escalation } })).toMatchObject({
      people: 2,
      demands: [{ policy: "h", reviewers: [admin], quorum: 2 }],
    });
  });

  test("cancels everything that stops the next retry, including the membrane's votes", () => {
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

  describe("with a block and a modification", () => {
    const modifying = {
      name: "m",
      spec: { when: "true", effect: "approve_modified", modify: [{ op: "set", path: "/channel", value: "'sms'" }] },
    };
    const on_sms = "has(params.channel)";
    const redact = [{ op: "redact", path: "/channel" }];
    const risk = { add: 0.9 };
    const thresholds = { escalate_at: null, block_at: 0.7 };
    test.each<[what: string, lifts: string[], spec: Readonly<Record<string, unknown>>, given?: TestCase]>([
      ["a block of the modified action", ["pol_b", "pol_c"], { when: on_sms, effect: "block" }],
      [
        "a change that only that asks for",
        ["pol_b", "pol_c"],
        { when: on_sms, effect: "approve_modified", modify: redact },
      ],
      [
        "its risk",
        ["membrane.risk_threshold", "pol_b"],
        { when: on_sms, effect: "none", risk },
        { membrane: { thresholds } },
      ],
    ])("lifts %s", (_, lifts, spec, given = {}) => {
      const policies = [rule("b", "block"), modifying, { name: "c", spec }];
      const names = lifts.map((each) => each.replace("pol_", "")).sort();
      expect(terms(policies, given)).toMatchObject({ kind: "allowed", people: 1, policies: names, lifts });
      const { content } = decide(inputOf(policies, { ...given, overrides: lifts }));
      expect(content).toMatchObject({ verdict: "approve_modified", modified_content: { channel: expect.anything() } });
    });

    test("nobody may override if the policy that blocks the modified action says never", () => {
      const never = { name: "c", spec: { when: on_sms, effect: "block", override: "never" } };
      expect(terms([rule("b", "block"), modifying, never])).toEqual({ kind: "forbidden", policies: ["c"] });
    });
  });
});
