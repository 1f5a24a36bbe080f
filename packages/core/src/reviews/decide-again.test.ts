import { expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import type { MembraneSettings } from "../deciding/decision.ts";
import { inputOf, noon, type TestPolicy } from "../testing/deciding.ts";
import { parseTimestampUs } from "../time.ts";
import { askedRuling, decideAgain, newDemands, type Present, type StoredAction } from "./decide-again.ts";

const policy = (name: string, spec: object): TestPolicy => ({ name, spec: { on_unknown: "skip", ...spec } });
const held = policy("held", { when: "true", effect: "escalate" });
const capped = policy("cap", {
  when: "true",
  effect: "approve_modified",
  modify: [{ op: "cap", path: "/amount", value: "40.0" }],
});
const no = policy("no", { when: "true", effect: "block", message: "not to {{ params.to }}" });
const hours = (at: string) => (parseTimestampUs(at) ?? 0) as number;

function decided(policies: readonly TestPolicy[]) {
  const input = inputOf(policies, { intent: { content: { amount: 50, to: "Ann Miller" } }, facts: {} });
  const { content: decision, withheld } = decide(input);
  const action = {
    ...{ intent_id: "int_1", membrane_id: "mem_1", mode: "live", created_at: noon, resolution: null },
    facts: input.facts,
    intent: { submitted: input.intent, attested: false, withheld },
    decision,
  } satisfies StoredAction;
  return { action, asked: { ...askedRuling(action, decision), human_reviewed: true } };
}

function now(
  policies: readonly TestPolicy[],
  more: Partial<Present> & { membrane?: Partial<MembraneSettings> } = {},
): Present {
  const { policySet, membrane } = inputOf(policies);
  const rules = { membrane: () => ({ policySet, membrane: { ...membrane, ...more.membrane } }) };
  return { rules, now_us: hours(noon), stored: [], for_ancestors: new Map(), submitter: null, ...more };
}

const blocksOf = (...[policies, present, from]: [TestPolicy[], Present, TestPolicy[]?]) => {
  const { action, asked } = decided(from ?? policies);
  return decideAgain(action, asked, present).blocked.map((each) => each.policy);
};

test("the same rules do not block what they held", () => {
  expect(blocksOf([held, capped], now([held, capped]))).toEqual([]);
  expect(blocksOf([held, capped], now([held]))).toEqual([]);
});

test.each<[string, Present, string[]]>([
  ["a policy", now([held, no]), ["no"]],
  [
    "the membrane's default verdict",
    now([held], { membrane: { default_verdict: "block" } }),
    ["membrane.default_verdict"],
  ],
  ["the submitter's key", now([held], { submitter: "revoked" }), ["submitter"]],
  ["a policy that changes the action now", now([held, capped]), ["cap"]],
  [
    "the time of day",
    now([held, policy("night", { when: "now.getHours() >= 22", effect: "block" })], {
      now_us: hours("2026-11-18T22:30:00Z"),
    }),
    ["night"],
  ],
  [
    "a stored fact",
    now([held, policy("frozen", { when: "facts.identity.account_status == 'frozen'", effect: "block" })], {
      stored: [
        { source: "org", document: { facts: { identity: { account_status: "frozen" } } }, received_us: hours(noon) },
      ],
    }),
    ["frozen"],
  ],
])("the current %s blocks", (_title, present, names) => {
  expect(blocksOf([held], present)).toEqual(names);
});

test("a current message quotes nothing that policies hid at the first decision", () => {
  const hide = policy("hide", { when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/to" }] });
  const { action, asked } = decided([held, hide]);
  const [block] = decideAgain(action, asked, now([held, no])).blocked;
  expect(block?.message).toBe("not to [redacted]");
});

test("a reviewer's changed content counts", () => {
  const large = policy("large", { when: "params.amount > 45.0", effect: "block" });
  const { action } = decided([held]);
  const change = { op: "replace" as const, path: "/amount", value: 5, policy_id: null };
  const less = { modifications: [change], modified_content: { amount: 5, to: "Ann Miller" }, human_reviewed: true };
  expect(decideAgain(action, less, now([held, large])).blocked).toEqual([]);
  expect(decideAgain(action, less, now([held, no])).blocked).toHaveLength(1);
});

test("a rule that newly holds the action adds a demand, unless a reassignment replaced it", () => {
  const admins = policy("admins", {
    when: "true",
    effect: "escalate",
    escalation: { reviewers: ["role:admin"], quorum: 2 },
  });
  const { action, asked } = decided([held]);
  const { demands } = decideAgain(action, asked, now([held, admins]));
  const further = newDemands(action, demands, []);
  expect(further).toMatchObject([{ policy: "admins", reviewers: [{ type: "role", id: "admin" }], quorum: 2 }]);
  const reassigned = {
    policy: "escalation.reassigned",
    reviewers: [],
    quorum: 1,
    approved_by: [],
    replaces: ["admins"],
  };
  expect(newDemands(action, demands, [reassigned])).toEqual([]);
  const asking = decideAgain(action, asked, now([held], { membrane: { default_verdict: "escalate" } }));
  expect(newDemands(action, asking.demands, []).map((each) => each.policy)).toEqual(["membrane.escalation"]);
});

test("a rule that needs more or other people than the review counted adds a demand", () => {
  const rule = (escalation: object) => policy("held", { when: "true", effect: "escalate", escalation });
  const { action, asked } = decided([rule({ reviewers: ["role:operator"], quorum: 2 })]);
  const demandsBy = (escalation: object) => decideAgain(action, asked, now([rule(escalation)])).demands;
  const counted = demandsBy({ reviewers: ["role:operator"], quorum: 2 }).map((each) => ({ ...each, approved_by: [] }));
  const isNew = (escalation: object) => newDemands(action, demandsBy(escalation), counted).length === 1;
  expect(isNew({ reviewers: ["role:operator"], quorum: 2 })).toBe(false);
  expect(isNew({ reviewers: ["role:reviewer"], quorum: 1 })).toBe(false);
  expect(isNew({ reviewers: ["role:operator"], quorum: 3 })).toBe(true);
  expect(isNew({ reviewers: ["role:admin"], quorum: 2 })).toBe(true);
  expect(isNew({ reviewers: ["user:usr_1", "user:usr_2"], quorum: 2 })).toBe(true);
});
