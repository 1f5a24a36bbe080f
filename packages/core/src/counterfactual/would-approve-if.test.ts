import { describe, expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import { inputOf, type TestCase, type TestPolicy } from "../testing/deciding.ts";
import { wouldApproveIf } from "./would-approve-if.ts";

const offered = (policies: readonly TestPolicy[], on: TestCase = {}) => {
  const input = inputOf(policies, on);
  return wouldApproveIf(input, decide(input));
};
const block = (name: string, when: string, more: object = {}): TestPolicy => ({
  name,
  spec: { when, effect: "block", ...more },
});
const amount = (value: number): TestCase => ({ intent: { content: { amount: value } } });

describe("what is offered", () => {
  test("a parameter within the bound of the rule, on either side of the comparison, strict or not", () => {
    const cases: [string, unknown][] = [
      ["params.amount > 500", { path: "params.amount", op: "at_most", value: 500 }],
      ["params.amount >= 500", { path: "params.amount", op: "at_most", value: 499 }],
      ["500 < params.amount", { path: "params.amount", op: "at_most", value: 500 }],
      ["params.amount >= 99.95", { path: "params.amount", op: "at_most", value: 99.94 }],
      ["!(params.amount >= 5000)", { path: "params.amount", op: "at_least", value: 5000 }],
    ];
    for (const [when, change] of cases) expect(offered([block("a", when)], amount(700)), when).toEqual([change]);
  });

  test("no value beyond a bound near the greatest number; the action is still decided", () => {
    const [near, greatest] = [1.7e308, Number.MAX_VALUE];
    expect(offered([block("a", `params.amount >= ${near}`)], amount(greatest))).toBeNull();
    expect(offered([block("a", `params.amount <= -${near}`)], amount(-greatest))).toBeNull();
    expect(offered([block("a", `params.amount > ${near}`)], amount(greatest))).toEqual([
      { path: "params.amount", op: "at_most", value: near },
    ]);
  });

  test("a bound that comes from a fact or a variable", () => {
    const rule = block("limit", "params.amount > vars.limit", {
      variables: [{ name: "limit", expr: "facts.organizational.delegation_limit_usd" }],
    });
    const on = { ...amount(700), facts: { organizational: { delegation_limit_usd: 600 } } };
    expect(offered([rule], on)).toEqual([{ path: "params.amount", op: "at_most", value: 600 }]);
  });

  test("a missing fact before a smaller amount, and a stale one before any other value", () => {
    const rule = block("limit", "params.amount > facts.organizational.delegation_limit_usd");
    const change = { path: "facts.organizational.delegation_limit_usd", op: "at_least", value: 700 };
    expect(offered([rule], amount(700))).toEqual([change]);
    const stale = {
      ...amount(700),
      facts: { organizational: { delegation_limit_usd: 900 } },
      as_of: { organizational: "2026-10-01T00:00:00Z" },
    };
    expect(offered([rule], stale)).toEqual([change]);
  });

  test("evidence, a TLS version, a date and a consent in a form that a context document may hold", () => {
    const require = (text: string): TestPolicy => ({ name: "r", spec: { require: text, effect: "block" } });
    const cases: [string, string, unknown][] = [
      [
        "documented(facts.organizational.legitimate_interest_assessment)",
        "organizational.legitimate_interest_assessment",
        true,
      ],
      ["documented(facts.organizational.gdpr_legal_basis)", "organizational.gdpr_legal_basis", "on file"],
      ["tls(facts.environmental.tls_version) >= 1.3", "environmental.tls_version", "1.3"],
    ];
    for (const [text, path, value] of cases)
      expect(offered([require(text)]), text).toEqual([{ path: `facts.${path}`, op: "present", value }]);
  });

  test("a value of a list, a member more or less, and a removed parameter", () => {
    const on = { intent: { content: { currency: "GBP", to: ["a", "b"], bcc: "x" } } };
    expect(offered([block("a", "!(params.currency in ['EUR', 'USD'])")], on)).toEqual([
      { path: "params.currency", op: "equals", value: "EUR" },
    ]);
    expect(offered([block("a", "'b' in params.to")], on)).toEqual([{ path: "params.to", op: "equals", value: ["a"] }]);
    expect(offered([block("a", "has(params.bcc)")], on)).toEqual([{ path: "params.bcc", op: "absent" }]);
  });

  test("changes of several rules together, the strictest bound of one place, and at most three", () => {
    const rules = [
      block("a", "params.amount > 500"),
      block("b", "params.amount > 400"),
      block("c", "params.copies > 1"),
    ];
    const on = { intent: { content: { amount: 700, copies: 3, d: 9, e: 9 } } };
    expect(offered(rules, on)).toEqual([
      { path: "params.amount", op: "at_most", value: 400 },
      { path: "params.copies", op: "at_most", value: 1 },
    ]);
    expect(offered([...rules, block("d", "params.d > 1"), block("e", "params.e > 1")], on)).toBeNull();
  });

  test("another remedy if the first one triggers another rule", () => {
    const on = { intent: { content: { amount: 700, limit: 10 } } };
    const over = block("over", "params.amount > params.limit");
    expect(offered([over], on)).toEqual([{ path: "params.limit", op: "at_least", value: 700 }]);
    expect(offered([over, block("high", "params.limit > 600")], on)).toEqual([
      { path: "params.amount", op: "at_most", value: 10 },
    ]);
  });

  test("a change that brings the risk below the membrane's threshold", () => {
    const risky = (name: string, when: string, add: number): TestPolicy => ({
      name,
      spec: { when, effect: "none", risk: { add } },
    });
    const rules = [risky("a", "params.amount > 500", 0.5), risky("b", "params.copies > 1", 0.2)];
    const on: TestCase = {
      intent: { content: { amount: 700, copies: 3 } },
      membrane: { thresholds: { escalate_at: 0.4, block_at: null } },
    };
    const change = { path: "params.amount", op: "at_most", value: 500 };
    expect(offered(rules, on)).toEqual([change]);
    const spec = {
      match: { actions: ["data.export"] },
      when: "params.amount > 1",
      effect: "none",
      risk: { add: 0.5 },
      explain: false,
    };
    expect(offered([...rules, { name: "a", pack: "other", spec }], on)).toEqual([change]);
  });
});

describe("what is not offered", () => {
  test("anything for an approval, the membrane's default, or a rule that always fires", () => {
    expect(offered([block("a", "params.amount > 500")], amount(1))).toBeNull();
    expect(
      offered([block("a", "params.amount > 500")], { ...amount(700), membrane: { default_verdict: "block" } }),
    ).toBeNull();
    expect(offered([block("a", "true")])).toBeNull();
  });

  test("anything if a stopping rule has explain: false, by its effect or by its risk", () => {
    const open = block("open", "params.amount > 500");
    const hidden = block("hidden", "params.amount > 300", { explain: false });
    expect(offered([open, hidden], amount(700))).toBeNull();
    const risky = {
      name: "risky",
      spec: { when: "params.amount > 300", effect: "none", risk: { add: 0.6 }, explain: false },
    };
    const thresholds = { escalate_at: 0.5, block_at: null };
    expect(offered([risky], { ...amount(700), membrane: { thresholds } })).toBeNull();
  });

  test("anything if a rule with explain: false adds its risk to the modified action only", () => {
    const modify = [{ op: "set", path: "/channel", value: "'sms'" }];
    const rules = [
      { name: "p", spec: { when: "params.amount > 500", effect: "approve_modified", modify, risk: { add: 0.5 } } },
      { name: "q", spec: { when: "has(params.channel)", effect: "none", risk: { add: 0.9 }, explain: false } },
    ];
    const thresholds = { escalate_at: 0.4, block_at: null };
    expect(offered(rules, { ...amount(700), membrane: { thresholds } })).not.toBeNull();
    expect(offered(rules, { ...amount(700), membrane: { thresholds: { ...thresholds, block_at: 0.7 } } })).toBeNull();
  });

  test("a change after which a rule with explain: false would stop the action; its bound is never offered", () => {
    const open = block("open", "params.amount > 500");
    const hidden = block("hidden", "params.amount > 300 && params.amount < 600", { explain: false });
    expect(offered([open, hidden], amount(700))).toBeNull();
  });

  test("a person's review, redacted values, and the action's type or verb", () => {
    expect(offered([block("a", "!(has(params.human_reviewed) && params.human_reviewed)")])).toBeNull();
    expect(offered([block("a", "action.type == 'payment.transfer'")])).toBeNull();
    const hide: TestPolicy = {
      name: "hide",
      spec: { when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/ssn" }] },
    };
    const on = { intent: { content: { ssn: 123456789, other: 200000000 } } };
    expect(JSON.stringify(offered([hide, block("a", "params.other > params.ssn")], on))).not.toContain("12345678");
    expect(offered([hide, block("a", "params.ssn > 5")], on)).toBeNull();
  });

  test("another value of a security fact that has one; a missing fact may be supplied", () => {
    const rule: TestPolicy = {
      name: "injection",
      spec: { require: "facts.security.prompt_injection_detected == false", effect: "block" },
    };
    const path = "facts.security.prompt_injection_detected";
    expect(offered([rule])).toEqual([{ path, op: "equals", value: false }]);
    const alarm = { facts: { security: { prompt_injection_detected: true } } };
    expect(offered([rule], alarm)).toBeNull();
    expect(offered([rule], { ...alarm, as_of: { security: "2026-01-01T00:00:00Z" } })).toBeNull();
  });

  test("anything if copies of many parameters alone exceed the budget", () => {
    const beside = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n]));
    for (const [path, on] of [
      ["params.amount", (count: number) => ({ ...beside(count), amount: 700 })],
      ["params.order.amount", (count: number) => ({ order: { ...beside(count), amount: 700 } })],
    ] as const) {
      const rule = block("a", `${path} > 500`);
      const offer = (count: number) => offered([rule], { intent: { content: on(count) } });
      expect(offer(1_000)).toEqual([{ path, op: "at_most", value: 500 }]);
      expect(offer(60_000)).toBeNull();
    }
  });

  test("anything beyond the cost budget", () => {
    const input = inputOf([block("a", "params.amount > 500")], { ...amount(700), cost_budget: 6 });
    const decided = decide(input);
    expect(decided.content.verdict).toBe("block");
    expect(wouldApproveIf(input, decided)).toBeNull();
  });
});
