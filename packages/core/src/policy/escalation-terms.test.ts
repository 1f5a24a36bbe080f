import type { Confirm, Reason, Reviewer, Role } from "@countersign/contract";
import { expect, test } from "vitest";
import { compilePolicySet } from "../deciding/policy-set.ts";
import { decideCase, policySource } from "../testing/deciding.ts";
import {
  asksAsMuch,
  electorateOf,
  type HoldingPolicy,
  heldFor,
  type KnownReviewer,
  mergeTerms,
  reviewerOf,
  reviewersToKnow,
} from "./escalation-terms.ts";

const membrane = {
  timeout_seconds: 14_400,
  on_timeout: "approve" as const,
  reviewers: [{ type: "role" as const, id: "reviewer" }],
  quorum: 1,
};

const holding = (name: string, escalation: HoldingPolicy["escalation"]): HoldingPolicy => ({
  ...{ policy_id: `pol_${name}`, name, escalation, approvals_min: 1 },
});

test("without policies the membrane's terms apply", () => {
  const { reviewers, quorum: _, ...terms } = membrane;
  const demands = [{ policy: "membrane.escalation", reviewers, quorum: 1 }];
  expect(mergeTerms(membrane, [], true)).toEqual({ ...terms, demands, approval_valid_seconds: 86_400 });
});

test.each([
  ["the membrane's, where the policies say nothing", [{}], false, 7_200],
  ["the shortest of the policies", [{ approval_valid_for: "8h" }, { approval_valid_for: "3h" }], false, 10_800],
  ["the membrane's, where it holds the action too", [{ approval_valid_for: "8h" }], true, 7_200],
  ["the policy's, where the membrane does not hold the action", [{ approval_valid_for: "8h" }], false, 28_800],
])("an approval stays valid as long as %s", (_, policies, membrane_asks, seconds) => {
  const rules = policies.map((escalation, n) => holding(`p${n}`, escalation));
  const terms = mergeTerms({ ...membrane, approval_valid_seconds: 7_200 }, rules, membrane_asks);
  expect(terms.approval_valid_seconds).toBe(seconds);
});

test("the strictest confirmation of a policy and the membrane counts for its demand, and no time limit approves", () => {
  const confirms = (of: Confirm | null, policies: readonly HoldingPolicy["escalation"][], membrane_asks: boolean) => {
    const rules = policies.map((escalation, n) => holding(`p${n}`, escalation));
    const { demands, on_timeout } = mergeTerms({ ...membrane, confirm: of }, rules, membrane_asks);
    return [demands.map(({ confirm }) => confirm), on_timeout];
  };
  expect(confirms(null, [{}, {}], true)).toEqual([[undefined, undefined, undefined], "approve"]);
  expect(confirms("totp", [{}, { confirm: "passkey" }], true)).toEqual([["totp", "passkey", "totp"], "block"]);
  expect(confirms("passkey", [{ confirm: "totp" }], false)).toEqual([["passkey"], "block"]);
  expect(confirms(null, [{}, { confirm: "totp" }], false)).toEqual([[undefined, "totp"], "block"]);
});

test("a demand asks as much as another one only with as strict a confirmation", () => {
  const demand = { policy: "a", reviewers: [], quorum: 1 };
  const asks = (one?: Confirm, other?: Confirm) =>
    asksAsMuch(
      { ...demand, ...(one === undefined ? {} : { confirm: one }) },
      { ...demand, ...(other === undefined ? {} : { confirm: other }) },
    );
  expect([asks(), asks("totp"), asks("passkey", "totp"), asks("totp", "totp")]).toEqual([true, true, true, true]);
  expect([asks(undefined, "totp"), asks("totp", "passkey")]).toEqual([false, false]);
});

test("the strictest terms of all policies apply, with the membrane's terms as defaults", () => {
  const terms = mergeTerms(
    membrane,
    [
      holding("large", { quorum: 2, timeout: "8h" }),
      holding("fast", { reviewers: ["role:operator"], timeout: "30m" }),
      holding("strict", { reviewers: ["role:admin", "role:reviewer"], on_timeout: "block" }),
    ],
    false,
  );
  expect(terms).toEqual({
    timeout_seconds: 1800,
    on_timeout: "block",
    approval_valid_seconds: 86_400,
    demands: [
      { policy: "large", policy_id: "pol_large", reviewers: panel(["role:reviewer"]), quorum: 2 },
      { policy: "fast", policy_id: "pol_fast", reviewers: panel(["role:operator"]), quorum: 1 },
      { policy: "strict", policy_id: "pol_strict", reviewers: panel(["role:admin", "role:reviewer"]), quorum: 1 },
    ],
  });
});

test("a membrane that holds the action itself demands its own reviewers and quorum, whatever a policy demands", () => {
  const strict = { ...membrane, reviewers: panel(["role:admin"]), quorum: 2 };
  const terms = mergeTerms(strict, [holding("p", { reviewers: ["role:reviewer"], quorum: 1, timeout: "8h" })], true);
  expect(terms.timeout_seconds).toBe(28_800);
  expect(electorateOf(terms.demands, new Map())).toMatchObject({ reviewers: panel(["role:admin"]), required: 2 });
});

test("a policy cannot approve on time-out where the membrane does not", () => {
  expect(
    mergeTerms({ ...membrane, on_timeout: "block" }, [holding("p", { on_timeout: "approve" })], false).on_timeout,
  ).toBe("block");
});

test.each([
  ["never", undefined, 2],
  ["two_person", undefined, 2],
  ["reviewer", undefined, 1],
  ["never", "escalate", 1],
])(
  "a block that is unknown, with override %s and on_unknown %s, takes %i approvals at least",
  (override, on_unknown, least) => {
    const spec = { when: "params.amount > 5.0", effect: "block", override, on_unknown };
    const terms = (quorum: number) => {
      const given = { membrane: { escalation: { ...membrane, quorum } }, intent: { content: { amount: "9" } } };
      return decideCase([{ name: "limit", spec }], given).escalation;
    };
    expect(terms(1)?.demands).toMatchObject([{ policy: "limit", quorum: least }]);
    expect(terms(3)?.demands).toMatchObject([{ policy: "limit", quorum: 3 }]);
    expect(terms(1)?.on_timeout).toBe(least > 1 ? "block" : "approve");
  },
);

test("a policy waits for another one that holds the action too; in a cycle none waits", () => {
  const waits = (order: Readonly<Record<string, string | undefined>>) =>
    mergeTerms(
      membrane,
      Object.entries(order).map(([name, after]) => holding(name, after === undefined ? {} : { after })),
      true,
    ).demands.map(({ policy, after = "-" }) => `${policy} ${after}`);
  expect(waits({ a: undefined, b: "a", c: "b" })).toEqual(["a -", "b a", "c b", "membrane.escalation -"]);
  expect(waits({ a: "membrane.escalation", b: "elsewhere" })).toEqual([
    ...["a membrane.escalation", "b -", "membrane.escalation -"],
  ]);
  expect(waits({ a: "b", b: "a", c: "a" })).toEqual(["a -", "b -", "c a", "membrane.escalation -"]);
});

test("reviewers of an ordered demand vote, even if another demand's reviewers meet it", () => {
  const demand = (policy: string, reviewers: readonly string[], after?: string) => ({
    ...{ policy, reviewers: panel(reviewers), quorum: 1 },
    ...(after === undefined ? {} : { after }),
  });
  const weak = demand("weak", ["role:reviewer"]);
  const plain = electorateOf([weak, demand("strong", ["role:admin"])], new Map());
  expect([plain.reviewers, plain.demands[0]?.met_with]).toEqual([panel(["role:admin"]), "strong"]);
  const ordered = electorateOf([weak, demand("strong", ["role:admin"], "weak")], new Map());
  expect([ordered.reviewers, ordered.required]).toEqual([panel(["role:admin", "role:reviewer"]), 1]);
  expect(ordered.demands.map(({ met_with }) => met_with)).toEqual([undefined, undefined]);
});

test("reviewers of any demand vote, and demands without a common reviewer need one approval each", () => {
  expect(voters([["user:a"], ["user:b"]])).toEqual([["user:a", "user:b"], 2]);
  expect(voters([["user:a"], ["role:operator"]])).toEqual([["role:operator", "user:a"], 2]);
  expect(voters([["user:a"], ["role:admin"], ["user:b"]], { a: "operator" })).toEqual([
    ["role:admin", "user:a", "user:b"],
    3,
  ]);
  expect(
    voters([
      ["user:a", "user:b"],
      ["user:b", "user:c"],
    ]),
  ).toEqual([["user:a", "user:b", "user:c"], 1]);
});

test("a named user with all demanded roles votes, and no role does", () => {
  expect(voters([["user:a"], ["role:reviewer"]])).toEqual([["user:a"], 1]);
  expect(voters([["user:a"], ["role:operator"]], { a: "admin" })).toEqual([["user:a"], 1]);
  expect(voters([["user:a", "role:admin"], ["role:reviewer"]])).toEqual([["role:admin", "user:a"], 1]);
  expect(voters([["user:a"], []])).toEqual([["user:a"], 1]);
});

test("the reviewers of a demand vote if its quorum is larger than that of a stronger demand", () => {
  const demands = [
    { policy: "strong", reviewers: panel(["role:admin"]), quorum: 1 },
    { policy: "many", reviewers: panel(["role:reviewer"]), quorum: 2 },
  ];
  expect(electorateOf(demands, new Map())).toMatchObject({
    reviewers: panel(["role:admin", "role:reviewer"]),
    required: 2,
  });
  const anybody = { policy: "any", reviewers: [], quorum: 3 };
  expect(electorateOf([...demands, anybody], new Map())).toMatchObject({ reviewers: [], required: 3 });
});

test("rotations of one key, and a key and its creator, are one person", () => {
  const rotated = (id: string): [string, KnownReviewer] => [id, { role: "reviewer", self: "key_1", person: "usr_1" }];
  const known = new Map([rotated("key_2"), rotated("key_3")]);
  expect(voters([["user:key_2"], ["user:key_3"]], known)).toEqual([["user:key_2"], 1]);
  expect(voters([["user:usr_1", "user:usr_2"], ["user:key_2"]], known)).toEqual([["user:key_2"], 1]);
});

test("nobody is looked up if all demands name the same reviewers or roles only", () => {
  expect(reviewersToKnow(demanded([["user:a", "role:admin"], ["role:admin", "user:a"], []]))).toEqual([]);
  expect(reviewersToKnow(demanded([["role:admin"], ["role:operator"]]))).toEqual([]);
  expect(reviewersToKnow(demanded([["user:a"], ["role:reviewer", "user:b"]]))).toEqual(["a", "b"]);
});

function panel(names: readonly string[]): Reviewer[] {
  return names.map(reviewerOf);
}

function demanded(panels: readonly (readonly string[])[]) {
  return panels.map((names, n) => ({ policy: `p${n}`, reviewers: panel(names), quorum: 1 }));
}

function voters(
  panels: readonly (readonly string[])[],
  known: Readonly<Record<string, Role>> | ReadonlyMap<string, KnownReviewer> = {},
): [string[], number] {
  const people =
    known instanceof Map ? known : new Map(Object.entries(known as Readonly<Record<string, Role>>).map(person));
  const { reviewers, required } = electorateOf(demanded(panels), people);
  return [reviewers.map(({ type, id }) => `${type}:${id}`), required];
}

function person([id, role]: readonly [string, Role]): [string, KnownReviewer] {
  return [id, { role, self: id, person: id }];
}

test("returns the demands of policies that hold only the changed action, with the membrane's defaults", () => {
  const policies = Object.entries({
    before: { reviewers: ["role:admin"] },
    large: { reviewers: ["role:admin", "user:usr_01K9ZZZZZZZZZZZZZZZZZZZZZZ"], quorum: 2 },
    plain: {},
    quiet: { quorum: 3 },
  }).map(([name, escalation]) => policySource({ name, spec: { when: "true", effect: "escalate", escalation } }));
  const policySet = compilePolicySet({ policies, version: 1 });
  const because = (name: string, effect: Reason["effect"] = "escalate"): Reason => {
    const what = { effect, message: "", citations: [], unknown_facts: [] };
    return { policy_id: `pol_${name}`, policy: name, version: 1, ...what };
  };
  const reasons = [because("before"), because("large"), because("plain"), because("quiet", "none")];
  expect(heldFor(reasons, policySet, membrane, [because("before"), because("large", "approve_modified")])).toEqual([
    {
      policy: "large",
      policy_id: "pol_large",
      reviewers: panel(["role:admin", "user:usr_01K9ZZZZZZZZZZZZZZZZZZZZZZ"]),
      quorum: 2,
    },
    { policy: "plain", policy_id: "pol_plain", reviewers: membrane.reviewers, quorum: 1 },
  ]);
});

const tier = (after: string, ...reviewers: string[]) => ({
  // biome-ignore lint/suspicious/noThenProperty: the word of the policy language.
  then: { after, reviewers },
});

test("a second tier is part of the demand of its own policy, if it opens before the end of the policy's own time limit", () => {
  const tierOf = (escalation: HoldingPolicy["escalation"]) =>
    mergeTerms(membrane, [holding("a", escalation), holding("b", {})], true).demands.map((demand) => demand.tier);
  const second = { after_seconds: 1_800, reviewers: panel(["role:operator"]) };
  expect(tierOf(tier("30m", "role:operator"))).toEqual([second, undefined, undefined]);
  expect(tierOf({ ...tier("30m", "role:operator"), timeout: "31m" })[0]).toEqual(second);
  // The membrane's limit is 4 hours.
  expect(tierOf(tier("4h", "role:operator"))[0]).toBe(undefined);
});

test("reviewers keep their votes if the second tier of a stronger demand does not meet theirs", () => {
  const operators = { policy: "operators", reviewers: panel(["role:operator"]), quorum: 1 };
  const admins = (...second: string[]) => ({
    ...{ policy: "admins", reviewers: panel(["role:admin"]), quorum: 1 },
    tier: { after_seconds: 60, reviewers: panel(second) },
  });
  const votersWith = (...second: string[]) => electorateOf([operators, admins(...second)], new Map());
  expect(votersWith("role:operator")).toMatchObject({ reviewers: panel(["role:admin"]), required: 1 });
  const kept = electorateOf([admins("role:operator"), { ...operators, reviewers: panel(["role:admin"]) }], new Map());
  expect(kept.demands.map(({ met_with }) => met_with)).toEqual([undefined, undefined]);
  expect(votersWith("role:reviewer")).toMatchObject({ reviewers: panel(["role:admin", "role:operator"]), required: 1 });
  // The second tier may meet both with one approval, so the lower limit includes it.
  const apart = [
    { ...operators, reviewers: panel(["user:a"]) },
    { ...admins("user:a"), reviewers: panel(["user:b"]) },
  ];
  expect(electorateOf(apart, new Map()).required).toBe(1);
});

test("each missing member of a policy's pace comes from the membrane", () => {
  const paced = { ...membrane, pace: { min_seconds: 9, reason_from: 5 } };
  const { demands } = mergeTerms(paced, [holding("a", { pace: { min_seconds: 20 } }), holding("b", {})], true);
  expect(demands.map(({ pace }) => pace)).toEqual([
    { min_seconds: 20, reason_from: 5 },
    { min_seconds: 9, reason_from: 5 },
    { min_seconds: 9, reason_from: 5 },
  ]);
  expect(mergeTerms({ ...membrane, pace: null }, [], true).demands[0]).not.toHaveProperty("pace");
});
