import { expect, test } from "vitest";
import { compilePolicySet } from "../../src/deciding/policy-set.ts";
import { type CountSource, checkPolicy, decide, mergeFacts, plainMembrane } from "../../src/index.ts";

const document = (spec: Record<string, unknown>, name = "limit") => {
  const given = { apiVersion: "countersign/v1", kind: "Policy", metadata: { name, title: name }, spec };
  const { document, diagnostics } = checkPolicy(given);
  expect(diagnostics).toEqual([]);
  if (document === null) throw new Error("invalid");
  return document;
};

const now_us = 1_800_000_000_000_000;
function verdict(specs: Record<string, unknown>[], content: Record<string, unknown>, counts?: CountSource) {
  const policies = specs.map((spec, at) => ({
    policy_id: `pol_${at}`,
    version: 1,
    document: document(spec, `p${at}`),
    mode: "live" as const,
  }));
  const intent = { agent: { id: "bot" }, action: { type: "payment.transfer", verb: "pay" }, payload: { content } };
  const decided = decide({
    intent,
    facts: mergeFacts([]),
    policySet: compilePolicySet({ policies, version: 1 }),
    membrane: plainMembrane,
    mode: "live",
    now_us,
    ...(counts && { counts }),
  });
  return {
    verdict: decided.content.verdict,
    reasons: decided.content.reasons.map(({ message }) => message),
    content: decided.content,
  };
}
const spent = {
  counters: [{ name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" }],
  match: { actions: ["payment.*"] },
};
const before = (micros: number | null, n = 1): CountSource => ({
  read: () => ({ n, micros, since_us: now_us - 1, last: null }),
});

test("a sum includes the action itself", () => {
  const rule = { ...spent, when: "count.spent.sum > 1000.0", effect: "block" };
  expect(verdict([rule], { amount: 900 }, before(100_000_000)).verdict).toBe("approve");
  expect(verdict([rule], { amount: 900 }, before(100_000_001)).verdict).toBe("block");
  expect(verdict([rule], { amount: 0.1 }, before(999_900_000)).verdict).toBe("approve");
});

test("missing, malformed and negative values are unknown", () => {
  const rule = { ...spent, when: "count.spent.sum > 1000.0", effect: "block", on_unknown: "escalate" };
  for (const content of [{}, { amount: "5" }, { amount: -1 }, { amount: 0.1234567 }, { amount: 1e12 }])
    expect(verdict([rule], content).verdict, JSON.stringify(content)).toBe("escalate");
  expect(verdict([rule], { amount: 1 }, before(null)).verdict).toBe("escalate");
});

test("policies share a counter by its name", () => {
  const reader = { when: "count.spent.n >= 3", effect: "escalate" };
  expect(
    verdict([spent && { ...spent, when: "false", effect: "block" }, reader], { amount: 1 }, before(0, 2)).verdict,
  ).toBe("escalate");
  expect(
    verdict(
      [
        { ...spent, when: "false", effect: "block" },
        {
          ...spent,
          counters: [{ ...spent.counters[0], window: "1h" }],
          when: "count.spent.n >= 3",
          effect: "block",
          on_unknown: "escalate",
        },
      ],
      { amount: 1 },
      before(0, 0),
    ).verdict,
  ).toBe("escalate");
});

test("a cap to what is left", () => {
  const rule = {
    ...spent,
    when: "count.spent.sum > 1000.0",
    effect: "approve_modified",
    modify: [{ op: "cap", path: "/amount", value: "1000.0 - (count.spent.sum - params.amount)" }],
  };
  const { verdict: given, content } = verdict([rule], { amount: 900 }, before(660_000_000));
  expect([given, content.modified_content]).toEqual(["approve_modified", { amount: 340 }]);
});

test("after and distinct", () => {
  const rule = {
    after: [{ name: "secrets", match: { verbs: ["read_secret"] }, key: ["agent.id"], within: "10m" }],
    when: "has(after.secrets) && after.secrets.id != ''",
    effect: "block",
    on_unknown: "block",
  };
  expect(verdict([rule], {}).verdict).toBe("approve");
  const earlier: CountSource = {
    read: () => ({ n: 1, micros: 1_000_000, since_us: 0, last: { intent_id: "int_1", at_us: now_us - 5 } }),
  };
  expect(verdict([rule], {}, earlier).verdict).toBe("block");
  const fan = { ...spent, when: 'count.spent.distinct("params.to") > 2.0', effect: "block", on_unknown: "block" };
  const seen = (has_own: boolean): CountSource => ({
    read: () => ({ n: 2, micros: 0, since_us: 0, last: null, distinct: { "params.to": { n: 2, has_own } } }),
  });
  expect(verdict([fan], { amount: 1, to: "a" }, seen(true)).verdict).toBe("approve");
  expect(verdict([fan], { amount: 1, to: "c" }, seen(false)).verdict).toBe("block");
});

test("an after whose key is missing is unknown, also to has", () => {
  const rule = {
    after: [{ name: "secrets", key: ["agent.session_id"], within: "10m" }],
    when: "has(after.secrets)",
    effect: "block",
    on_unknown: "escalate",
  };
  const { verdict: given, content } = verdict([rule], {});
  expect(given).toBe("escalate");
  expect(content.reasons[0]?.unknown_facts).toMatchObject([{ path: "agent.session_id", reason: "no key" }]);
});

test("a reason says what counted, and the limit", () => {
  const rule = {
    ...spent,
    when: "count.spent.sum > vars.limit",
    variables: [{ name: "limit", expr: "1000.0" }],
    effect: "block",
    message: "Too much.",
  };
  expect(verdict([rule], { amount: 900 }, before(200_500_000, 3)).reasons).toEqual([
    "Too much. (spent: 4 actions, 1,100.50 of 1,000 since 2027-01-15T07:59:59.999999Z)",
  ]);
  expect(verdict([{ ...rule, explain: false }], { amount: 900 }, before(200_500_000, 3)).reasons).toEqual([
    "Too much.",
  ]);
  const often = { ...spent, when: "count.spent.n > 3.0", effect: "block", message: "Too often." };
  expect(verdict([often], { amount: 1 }, before(0, 3)).reasons[0]).toContain("(spent: 4 of 3 actions since");
});
