import type { GrantScope } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { decide } from "../deciding/decide.ts";
import { inputOf, type TestCase, type TestPolicy } from "../testing/deciding.ts";
import { grantCovers, grantTerms, grantText, isInScope, rulesInForce } from "./grant.ts";

const grants = { times_max: 5, hours_max: 24 };
const held = (name: string, escalation: object = { grants }, spec: object = {}): TestPolicy => ({
  name,
  spec: { when: "true", effect: "escalate", escalation, ...spec },
});

function terms(policies: readonly TestPolicy[], given: TestCase = {}) {
  const input = inputOf(policies, given);
  return grantTerms(decide(input).content.reasons, input);
}

describe("the terms of a grant", () => {
  test("has the smallest limits of the rules that hold the action", () => {
    const small = held("b", { grants: { times_max: 2, hours_max: 48 } });
    expect(terms([held("a"), small])).toMatchObject({ kind: "allowed", times_max: 2, hours_max: 24 });
  });

  test.each<[string, TestPolicy, TestCase, RegExp]>([
    ["a rule that permits none", held("b", {}), {}, /b permits no grants/],
    ["the membrane", held("a"), { membrane: { default_verdict: "escalate" } }, /membrane.default_verdict holds/],
    [
      "a fact that is unknown",
      held("b", { grants }, { when: "facts.security.active_security_incident" }),
      {},
      /unknown/,
    ],
    [
      "two people by the membrane",
      held("b"),
      { membrane: { escalation: { reviewers: [], quorum: 2, timeout_seconds: 60, on_timeout: "block" } } },
      /needs 2 people/,
    ],
  ])("is refused by %s", (_title, policy, given, message) => {
    const refused = terms([held("a"), policy].slice(policy.name === "a" ? 1 : 0), given);
    expect(refused).toMatchObject({ kind: "refused", outdated: false, message: expect.stringMatching(message) });
  });

  test("ends when a rule changes", () => {
    const input = inputOf([held("a")], {});
    const granted = grantTerms(decide(input).content.reasons, input);
    if (granted.kind !== "allowed") throw new Error(granted.message);
    expect(rulesInForce(granted, input)).toBe(true);
    const [rule] = granted.rules;
    expect(rulesInForce({ rules: [{ ...(rule as typeof rule & object), version: 9 }] }, input)).toBe(false);
    const { membrane } = inputOf([], {
      membrane: {
        escalation: {
          reviewers: [{ type: "role", id: "admin" }],
          quorum: 1,
          timeout_seconds: 60,
          on_timeout: "block",
        },
      },
    });
    expect(rulesInForce(granted, { ...input, membrane })).toBe(false);
  });
});

const scope: GrantScope = { agent_id: "bot", verb: "pay", at_most: [{ path: "/amount", value: 500 }] };
const intent = { agent: { id: "bot", session_id: "s" }, action: { verb: "pay", target: { identifier: "acme" } } };

describe("the scope of a grant", () => {
  test.each([undefined, null, "500", -1, 500.01, Number.NaN, Number.POSITIVE_INFINITY, [1], { value: 1 }])(
    "never covers the amount %j",
    (amount) => expect(isInScope(scope, intent, [{ amount }])).toBe(false),
  );

  test("covers an amount up to the bound, as submitted and as modified", () => {
    expect(isInScope(scope, intent, [{ amount: 500 }])).toBe(true);
    expect(isInScope(scope, intent, [{ amount: 500 }, { amount: 501 }])).toBe(false);
    expect(isInScope(scope, intent, [null])).toBe(false);
  });

  test("covers no integer that a JSON number cannot hold exactly", () => {
    const most = { ...scope, at_most: [{ path: "/amount", value: 2 ** 60 }] };
    expect(isInScope(most, intent, [{ amount: 2 ** 53 }])).toBe(false);
  });

  test.each([{ agent_id: "other" }, { verb: "send" }, { target: "ACME" }, { session_id: "t" }])(
    "does not cover another action: %j",
    (other) => expect(isInScope({ ...scope, ...other }, intent, [{ amount: 1 }])).toBe(false),
  );

  test("is described with what it leaves open", () => {
    expect(grantText({ ...scope, target: "acme" }, 3)).toBe(
      "The agent bot may run pay if the target is acme and /amount is at most 500, 3 times. " +
        "Free: the session, all other parameters.",
    );
  });
});

test("a grant never covers an action that is blocked, held otherwise, or outside its scope", () => {
  const granted = held("granted", { grants }, { when: "params.amount > 10.0" });
  const unnamed = held("other", {}, { when: "params.kind == 'other'" });
  const block: TestPolicy = { name: "block", spec: { when: "params.kind == 'block'", effect: "block" } };
  const policies = [granted, unnamed, block];
  const membrane = { default_verdict: "approve" } as const;
  const example = inputOf(policies, { intent: { content: { amount: 20, kind: "x" } }, membrane });
  const made = grantTerms(decide(example).content.reasons, example);
  if (made.kind !== "allowed") throw new Error(made.message);
  const { id: agent_id } = example.intent.agent;
  const of = { agent_id, verb: example.intent.action.verb, at_most: [{ path: "/amount", value: 500 }] };
  const examples: [number | string | null, "x" | "other" | "block"][] = [
    [20, "x"],
    [501, "x"],
    [20, "other"],
    [20, "block"],
  ];
  const outcomes = new Set<string>();
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: -10, max: 1_000 }), fc.constantFrom("20", null)),
      fc.constantFrom("x", "other", "block"),
      (amount, kind) => {
        const input = inputOf(policies, { intent: { content: { amount, kind } }, membrane });
        const { content, decided_as } = decide(input);
        const contents = [input.intent.payload?.content ?? null];
        const action = { intent: input.intent, action_type: decided_as.type, contents, reasons: content.reasons };
        const usable = { scope: of, action_type: decided_as.type, rules: made.rules };
        const lifted = grantCovers(usable, action, input);
        const fits = typeof amount === "number" && amount > 10 && amount <= 500 && kind === "x";
        expect(lifted !== null).toBe(fits);
        if (lifted !== null) expect(decide({ ...input, overrides: lifted }).content.verdict).toBe("approve");
        outcomes.add(`${content.verdict} ${lifted !== null}`);
      },
    ),
    { examples, numRuns: examples.length + runs(1_000) },
  );
  expect([...outcomes]).toEqual(expect.arrayContaining(["escalate true", "escalate false", "block false"]));
});
