import type { RulingInput } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { decide } from "../deciding/decide.ts";
import { inputOf, noon, type TestPolicy } from "../testing/deciding.ts";
import { parseTimestampUs } from "../time.ts";
import type { Present, RulesInForce, StoredAction } from "./decide-again.ts";
import type { Ruling } from "./escalation.ts";
import { type ProposedRuling, reviewersChanges, timeOutRuling, type WantedVote, workOutRuling } from "./ruling.ts";

const policy = (name: string, spec: object): TestPolicy => ({ name, spec: { on_unknown: "skip", ...spec } });
const held = policy("held", { when: "true", effect: "escalate" });
const noted = policy("note", {
  when: "true",
  effect: "approve_modified",
  modify: [{ op: "set", path: "/note", value: "'seen'" }],
});
const hiding = policy("hide", { when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/to" }] });
const less = { op: "replace" as const, path: "/amount", value: 5 };
const renamed = { op: "replace" as const, path: "/to", value: "Mallory Jones" };

function decided(policies: readonly TestPolicy[], content: Record<string, unknown> = { amount: 50, to: "Ann Miller" }) {
  const { intent, facts, policySet, membrane } = inputOf(policies, { intent: { content } });
  const { content: decision, withheld } = decide(inputOf(policies, { intent: { content } }));
  const action = {
    ...{ intent_id: "int_1", membrane_id: "mem_1", mode: "live", created_at: noon, facts, resolution: null },
    intent: { submitted: intent, attested: false, withheld },
    decision,
  } satisfies StoredAction;
  const rules: RulesInForce = { membrane: (id) => (id === "mem_1" ? { membrane, policySet } : undefined) };
  return { action, rules };
}

/** The given rules, at the time of the decision. */
const by = (rules: RulesInForce): Present => ({
  rules,
  now_us: parseTimestampUs(noon) ?? 0,
  stored: [],
  for_ancestors: new Map(),
  submitter: null,
});

const rulesOf = (policies: readonly TestPolicy[]) => decided(policies).rules;

/** A review that others approved, with their changes as the record shows them. */
function review(ruling: Ruling | null = null): WantedVote["review"] {
  const modifications = reviewersChanges(ruling);
  const vote = { reviewer: "other", outcome: "approve_modified" as const, comment: null, modifications, at: noon };
  return { record: { votes: ruling === null ? [] : [vote] }, ruling };
}

function workOut(action: StoredAction, rules: RulesInForce, input: RulingInput, of: WantedVote["review"] = review()) {
  return workOutRuling({ action, review: of, person: "me", input }, by(rules));
}

function proposedBy(
  action: StoredAction,
  rules: RulesInForce,
  input: RulingInput,
  of?: WantedVote["review"],
): ProposedRuling {
  const worked = workOut(action, rules, input, of);
  if (worked.kind === "refused") throw new Error(worked.because);
  return worked;
}

const change = (...modifications: NonNullable<RulingInput["modifications"]>): RulingInput => ({
  outcome: "approve_modified",
  modifications,
});

describe("a ruling", () => {
  test("without a change has the policies' changes, and needs no rules", () => {
    const nobody: RulesInForce = { membrane: () => undefined };
    const none = { hidden: [], demands: [], repeats_redacted: false, overtaken: false };
    const { action } = decided([held]);
    const plain = { outcome: "approve", modifications: [], modified_content: null };
    expect(workOut(action, nobody, { outcome: "block" })).toEqual({ kind: "proposed", ruling: null, ...none });
    expect(workOut(action, nobody, { outcome: "approve" })).toEqual({ kind: "proposed", ruling: plain, ...none });
    const asked = proposedBy(decided([held, noted]).action, nobody, { outcome: "approve" });
    expect(asked.ruling).toMatchObject({ outcome: "approve_modified", modified_content: { note: "seen" } });
  });

  test("with a change contains the reviewer's and the policies' changes", () => {
    const { action } = decided([held]);
    const { ruling } = proposedBy(action, rulesOf([held, noted]), change(less));
    expect(ruling).toEqual({
      outcome: "approve_modified",
      modifications: [
        { ...less, policy_id: null },
        { op: "add", path: "/note", value: "seen", policy_id: "pol_note" },
      ],
      wanted_content: { amount: 5, to: "Ann Miller" },
      modified_content: { amount: 5, to: "Ann Miller", note: "seen" },
    });
    expect(reviewersChanges(ruling)).toEqual([less]);
  });

  test("lists the demands that only the changed action has", () => {
    const { action } = decided([held]);
    const escalation = { reviewers: ["role:admin"], quorum: 2 };
    const small = policy("small", { when: "params.amount < 10.0", effect: "escalate", escalation });
    const { demands } = proposedBy(action, rulesOf([held, small]), change(less));
    expect(demands).toEqual([
      { policy: "small", policy_id: "pol_small", reviewers: [{ type: "role", id: "admin" }], quorum: 2 },
    ]);
  });

  test.each<[because: string, input: RulingInput, more: object]>([
    ["modifications_unexpected", { outcome: "approve", modifications: [less] }, {}],
    ["modifications_unexpected", { outcome: "block", modifications: [less] }, {}],
    ["modifications_missing", { outcome: "approve_modified" }, {}],
    ["value_missing", change(less, { op: "add", path: "/x" }), { index: 1, op: "add" }],
    ["cannot_apply", change(less, { ...less, path: "/none" }), { index: 1, message: expect.any(String) }],
    ["blocked", change({ ...less, value: 7 }), { policies: [{ policy: "no-sevens", message: expect.any(String) }] }],
  ])("is refused: %s", (because, input, more) => {
    const rules = rulesOf([held, policy("no-sevens", { when: "params.amount == 7.0", effect: "block" })]);
    expect(workOut(decided([held]).action, rules, input)).toEqual({ kind: "refused", because, ...more });
  });
});

describe("a change that keeps a rule from being evaluated", () => {
  const limit = (on_unknown: string | undefined, more = {}) =>
    ({ name: "limit", spec: { when: "params.amount > 100.0", effect: "block", on_unknown, ...more } }) as TestPolicy;
  const nested = { name: "limit", spec: { when: "params.items.exists(i, i.amount > 100.0)", effect: "block" } };
  const to = (value: unknown): RulingInput => change({ op: "replace", path: "/amount", value });

  test.each<[string, RulingInput]>([
    ["a text", to("9999999")],
    ["a written number", to("9,999,999.00")],
    ["a list", to([9999999])],
    ["an object", to({ value: 9999999 })],
    ["null", to(null)],
    ["nothing", change({ op: "remove", path: "/amount" })],
    ["another name", change({ op: "remove", path: "/amount" }, { op: "add", path: "/amount_eur", value: 9999999 })],
  ])("is refused like a block: %s, whatever the rule's on_unknown says", (_, input) => {
    for (const on_unknown of [undefined, "escalate", "skip", "block", "fire"]) {
      const { action, rules } = decided([held, limit(on_unknown)]);
      expect(workOut(action, rules, input)).toMatchObject({ because: "blocked", policies: [{ policy: "limit" }] });
    }
  });

  test("is refused in a list entry, and for require", () => {
    const entries = decided([held, nested], { items: [{ amount: 5 }] });
    const more = change({ op: "add", path: "/items/-", value: { amount: "9999999" } });
    expect(workOut(entries.action, entries.rules, more)).toMatchObject({ because: "blocked" });
    const required = decided([held, limit("skip", { when: "true", require: "params.amount <= 100.0" })]);
    expect(workOut(required.action, required.rules, to(null))).toMatchObject({ because: "blocked" });
  });

  test("passes if the rule was unknown for the same cause before", () => {
    const about_facts = { name: "f", spec: { when: "params.amount > facts.organizational.limit", effect: "block" } };
    const { action, rules } = decided([held, about_facts]);
    expect(proposedBy(action, rules, to(7)).ruling?.modified_content).toMatchObject({ amount: 7 });
  });

  test("makes the approvals of others obsolete if the rule is new", () => {
    const { action, rules } = decided([held], { amount: 50, to: 7 });
    const { ruling } = proposedBy(action, rules, change({ op: "remove", path: "/amount" }));
    const now = rulesOf([held, limit("escalate")]);
    expect(proposedBy(action, now, { outcome: "approve" }, review(ruling)).overtaken).toBe(true);
  });
});

describe("a change of a value's JSON type", () => {
  const texts = { amount: "50", to: "Ann Miller", lines: [{ n: "1" }, { n: "2" }], open: null };
  const limit = policy("limit", {
    when: "vars.sum > 100.0",
    effect: "block",
    variables: [{ name: "sum", expr: "params.amount" }],
  });
  const counted = policy("counted", { when: "params.lines.exists(l, l.n > 9.0)", effect: "escalate" });
  const set = (path: string, value: unknown): RulingInput => change({ op: "replace", path, value });

  test.each<[string, RulingInput, object]>([
    ["that no rule demands", set("/to", 5), { path: "/to", type: "number" }],
    ["to a type that does not help the rule", set("/amount", [50]), { path: "/amount", type: "list" }],
    ["in an entry of a list", set("/lines/1/n", true), { path: "/lines/*/n", type: "boolean" }],
    ["to null", set("/to", null), { path: "/to", type: "null" }],
    [
      "beside one that the rule demands",
      change({ op: "replace", path: "/amount", value: 50 }, { op: "replace", path: "/to", value: ["Ann"] }),
      { path: "/to", type: "list" },
    ],
  ])("is refused: one %s", (_, input, where) => {
    const { action, rules } = decided([held, limit, counted], texts);
    expect(workOut(action, rules, input)).toEqual({ kind: "refused", because: "type_changed", ...where });
  });

  test.each<[string, RulingInput]>([
    ["one that a rule demands", set("/amount", 50)],
    ["one in all entries of a list that a rule demands", set("/lines", [{ n: 3 }])],
    ["a value in place of null", set("/open", { by: "Ann" })],
    ["a type that the list has elsewhere", set("/lines", [{ n: "2" }, { m: 1 }])],
    ["another field", change({ op: "add", path: "/note", value: 7 })],
  ])("passes: %s", (_, input) => {
    const { action, rules } = decided([held, limit, counted], texts);
    expect(workOut(action, rules, input)).toMatchObject({ kind: "proposed" });
  });
});

describe("a redacted change that others approved", () => {
  const { action, rules } = decided([held, hiding]);
  const first = proposedBy(action, rules, change(renamed));
  const shown = reviewersChanges(first.ruling) ?? [];

  test("is approved by sending what the record shows of it", () => {
    expect([shown, first.hidden]).toEqual([[{ ...renamed, value: "[redacted]" }], ["Mallory Jones"]]);
    const second = proposedBy(action, rules, change(...shown), review(first.ruling));
    expect(second).toMatchObject({ repeats_redacted: true, overtaken: false });
    expect(second.ruling?.wanted_content).toEqual({ amount: 50, to: "Mallory Jones" });
    expect(second.ruling?.modifications).toEqual(first.ruling?.modifications);
  });

  test("is the reviewer's own change if no other vote shows it", () => {
    const own = proposedBy(action, rules, change(...shown));
    expect(own.repeats_redacted).toBe(false);
    expect(own.ruling?.wanted_content).toEqual({ amount: 50, to: "[redacted]" });
  });

  test("is overtaken if policies now give another ruling", () => {
    const now = rulesOf([held]);
    expect(proposedBy(action, now, change(...shown), review(first.ruling))).toMatchObject({
      repeats_redacted: true,
      overtaken: true,
    });
    expect(proposedBy(action, now, { outcome: "block" }, review(first.ruling)).overtaken).toBe(false);
  });
});

test("an approved change that policies now block is overtaken", () => {
  const { action, rules } = decided([held]);
  const { ruling } = proposedBy(action, rules, change(less));
  const now = rulesOf([held, policy("no-fives", { when: "params.amount == 5.0", effect: "block" })]);
  expect(proposedBy(action, now, { outcome: "approve" }, review(ruling)).overtaken).toBe(true);
});

describe("the time limit", () => {
  const approving = (policies: readonly TestPolicy[]): RulesInForce => ({
    membrane: (id) => {
      const found = rulesOf(policies).membrane(id);
      if (found === undefined) return undefined;
      const escalation = { ...found.membrane.escalation, on_timeout: "approve" as const };
      return { ...found, membrane: { ...found.membrane, escalation } };
    },
  });

  test("approves what policies asked for if the current rules still do", () => {
    const { action } = decided([held, noted]);
    expect(timeOutRuling(action, by(approving([held, noted])))?.modified_content).toMatchObject({ note: "seen" });
    expect(timeOutRuling(action, by(approving([noted])))?.modified_content).toMatchObject({ note: "seen" });
  });

  test.each<[string, RulesInForce]>([
    ["the membrane blocks on time-out", rulesOf([held])],
    ["a policy blocks the action", approving([held, policy("no", { when: "true", effect: "block" })])],
    [
      "a policy forbids approval on time-out",
      approving([policy("held", { ...held.spec, escalation: { on_timeout: "block" } })]),
    ],
    ["a policy modifies the action otherwise", approving([held, noted])],
  ])("lets nothing through where %s", (_, rules) => {
    expect(timeOutRuling(decided([held]).action, by(rules))).toBeNull();
  });
});
