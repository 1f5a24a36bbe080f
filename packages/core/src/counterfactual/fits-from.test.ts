import type { ApprovalChange } from "@countersign/contract";
import { expect, test } from "vitest";
import type { CountSource } from "../counters/counting.ts";
import { CounterHistory } from "../counters/history.ts";
import { decide } from "../deciding/decide.ts";
import type { DecideInput } from "../deciding/decision.ts";
import { inputOf, noon, type TestCase, type TestPolicy } from "../testing/deciding.ts";
import { parseTimestampUs, us_per_second } from "../time.ts";
import { type Asker, wouldApproveIf } from "./would-approve-if.ts";

const spent = { name: "spent", key: ["agent.id"], value: "params.amount", window: "24h" };
const rule = (when: string, more: object = {}): TestPolicy => ({
  name: "limit",
  spec: { counters: [spent], when, effect: "block", on_unknown: "block", ...more },
});
const daily = rule("count.spent.sum > 5000.0");
const pay = (amount: unknown, more: TestCase = {}): TestCase => ({ ...more, intent: { content: { amount } } });

type Earlier = readonly [at: string, amount: number | null];
/** 4,660 in the 24 hours before noon of 18 November. */
const earlier: readonly Earlier[] = [
  ["2026-11-17T14:05:00Z", 1_000],
  ["2026-11-17T20:00:00Z", 3_000],
  ["2026-11-18T09:30:00Z", 660],
];

function countsAt(history: CounterHistory, now_us: number): CountSource {
  return {
    read: (track, _key, own) => history.read(track, now_us, own, null),
    later: {
      fallsByUs: (track, _key, field, by) => history.fallsByUs(track, now_us, field, by),
      at: (later_us) => ({ read: (track, _key, own) => history.readLater(track, now_us, later_us, own, null) }),
    },
  };
}

function historyOf(entries: readonly Earlier[]): CounterHistory {
  return new CounterHistory(
    entries.map(([at, amount], place) => ({
      intent_id: `int_${place}`,
      at_us: parseTimestampUs(at) ?? Number.NaN,
      micros: amount === null ? null : amount * 1_000_000,
      state: "approve",
      values: {},
    })),
  );
}

function inputAt(policies: readonly TestPolicy[], on: TestCase, history: CounterHistory): DecideInput {
  const input = inputOf(policies, on);
  return { ...input, counts: countsAt(history, input.now_us) };
}

/** Gives the agent `agent-1` of `inputOf` an agent above it. */
function belowBoss(input: DecideInput): DecideInput {
  return { ...input, facts: { ...input.facts, ancestors: [{ id: "boss", source: "register", facts: {} }] } };
}

function offered(policies: readonly TestPolicy[], on: TestCase, entries = earlier, asker?: Asker) {
  const input = inputAt(policies, on, historyOf(entries));
  return wouldApproveIf(input, decide(input), asker);
}

const atMost = (value: number): ApprovalChange => ({ path: "params.amount", op: "at_most", value });
const from = (value: string): ApprovalChange => ({ path: "now", op: "at_least", value });

test("the amount that is left of the limit, and the time from which the whole amount fits", () => {
  expect(offered([daily], pay(900))).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
  expect(offered([daily], pay(1_340.01))).toEqual([atMost(340), from("2026-11-18T20:00:00Z")]);
  const through = rule("vars.total > vars.most", {
    variables: [
      { name: "total", expr: "count.spent.sum" },
      { name: "most", expr: "5000.0" },
    ],
  });
  expect(offered([through], pay(900))).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
  expect(offered([rule("!(5000 > count.spent.sum)")], pay(900))).toEqual([atMost(339), from("2026-11-18T14:05:00Z")]);
});

test("what is offered is approved, and one step more or one second less is not", () => {
  const entries: Earlier[] = [["2026-11-17T14:05:00.000001Z", 0.7], ["2026-11-18T01:00:00Z", 0.1], ...earlier.slice(1)];
  const history = historyOf(entries);
  const verdict = (amount: number, at_us: number): string => {
    const at = inputAt([daily], pay(amount), history);
    return decide({ ...at, now_us: at_us, counts: countsAt(history, at_us) }).content.verdict;
  };
  const now_us = parseTimestampUs(noon) ?? 0;
  expect(offered([daily], pay(1_340), entries)).toEqual([atMost(1_339.2), from("2026-11-18T20:00:00Z")]);
  expect([verdict(1_339.2, now_us), verdict(1_339.200001, now_us)]).toEqual(["approve", "block"]);
  expect(offered([daily], pay(1_339.9), entries)).toEqual([atMost(1_339.2), from("2026-11-18T14:05:01Z")]);
  const later_us = parseTimestampUs("2026-11-18T14:05:01Z") ?? 0;
  expect([verdict(1_339.9, later_us), verdict(1_339.9, later_us - us_per_second)]).toEqual(["approve", "block"]);
});

test("the time alone if nothing is left, the amount alone if the whole amount never fits", () => {
  const full: Earlier[] = [...earlier, ["2026-11-18T10:00:00Z", 340]];
  expect(offered([daily], pay(900), full)).toEqual([from("2026-11-18T14:05:00Z")]);
  expect(offered([daily], pay(5_000.01))).toEqual([atMost(340)]);
  expect(offered([daily], pay(5_000.01), full)).toBeNull();
});

test("the time from which a number of actions fits", () => {
  const counter = { ...spent, value: undefined };
  const limit = (when: string) => rule(when, { counters: [JSON.parse(JSON.stringify(counter))] });
  expect(offered([limit("count.spent.n > 3")], pay(1))).toEqual([from("2026-11-18T14:05:00Z")]);
  expect(offered([limit("count.spent.n >= 3")], pay(1))).toEqual([from("2026-11-18T20:00:00Z")]);
  expect(offered([limit("count.spent.n > 1.5")], pay(1))).toEqual([from("2026-11-19T09:30:00Z")]);
  expect(offered([limit("count.spent.n >= 1")], pay(1))).toBeNull();
});

test("a calendar window begins again at the end of its period", () => {
  const window = { calendar: "day", zone: "Europe/Berlin" };
  const monthly = rule("count.spent.sum > 1000.0", { counters: [{ ...spent, window }] });
  expect(offered([monthly], pay(900))).toEqual([atMost(340), from("2026-11-18T23:00:00Z")]);
});

test("rules together wait for the last one, alternatives for the first one", () => {
  const all = rule("count.spent.sum > 5000.0 || count.spent.n > 2");
  expect(offered([all], pay(900))).toEqual([from("2026-11-18T20:00:00Z")]);
  const both = rule("count.spent.sum > 5000.0 && count.spent.n > 2");
  expect(offered([both], pay(900))).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
  const other: TestPolicy = { name: "other", spec: { when: "count.spent.sum > 2500.0", effect: "escalate" } };
  expect(offered([daily, other], pay(900))).toEqual([from("2026-11-18T20:00:00Z")]);
});

test("no offer if another rule stops the action, now or at that time", () => {
  const frozen: TestPolicy = { name: "frozen", spec: { when: "action.verb == 'send_money'", effect: "block" } };
  expect(offered([daily, frozen], pay(900))).toBeNull();
  const evening: TestPolicy = { name: "evening", spec: { when: "now.getHours() >= 14", effect: "block" } };
  expect(offered([daily, evening], pay(900))).toEqual([atMost(340)]);
  const small: TestPolicy = { name: "small", spec: { when: "params.amount < 500", effect: "block" } };
  expect(offered([daily, small], pay(900))).toEqual([from("2026-11-18T14:05:00Z")]);
  expect(offered([rule("count.spent.sum > 5000.0", { explain: false })], pay(900))).toBeNull();
});

test("facts are as fresh then as now, except the hour of the clock", () => {
  const needs = (condition: string): TestPolicy => ({ name: "fact", spec: { require: condition, effect: "block" } });
  const facts = { identity: { agent_status: "active" }, environmental: { recipient_local_hour: 12 } };
  const on = pay(900, { facts, membrane: { facts_max_age: { identity: 60 } } });
  const status = needs("facts.identity.agent_status == 'active'");
  expect(offered([daily, status], on)).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
  expect(offered([daily, needs("facts.environmental.recipient_local_hour < 20")], on)).toEqual([atMost(340)]);
});

test("no amount that the reader must not see, and none of what is not a plain number", () => {
  const hide: TestPolicy = {
    name: "hide",
    spec: { when: "true", effect: "approve_modified", modify: [{ op: "redact", path: "/amount" }] },
  };
  expect(offered([daily, hide], pay(900))).toBeNull();
  const doubled = rule("count.spent.sum > 5000.0", { counters: [{ ...spent, value: "params.amount * 1.0" }] });
  expect(offered([doubled], pay(900))).toEqual([from("2026-11-18T14:05:00Z")]);
  expect(offered([daily], pay("900"))).toBeNull();
  expect(offered([daily], pay(900), [...earlier, ["2026-11-18T10:00:00Z", null]])).toBeNull();
});

test("an agent gets neither amount nor time of a limit in a stored fact", () => {
  const stored = rule("count.spent.sum > facts.organizational.delegation_limit_usd");
  const on = pay(900, { facts: { organizational: { delegation_limit_usd: 5_000 } } });
  expect(offered([stored], on)).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
  const agent: Asker = { supplies: "reported", gets_values: false };
  expect(offered([stored], on, earlier, agent)).toBeNull();
  expect(offered([daily], pay(900), earlier, agent)).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
});

test("a record without later sums offers no time", () => {
  const input = inputAt([daily], pay(900), historyOf(earlier));
  const { read } = input.counts as CountSource;
  const recorded = { ...input, counts: { read } };
  expect(wouldApproveIf(recorded, decide(recorded))).toEqual([atMost(340)]);
});

test("the budget of an agent above counts, too", () => {
  const [own, boss] = [historyOf([]), historyOf(earlier)];
  const now_us = parseTimestampUs(noon) ?? 0;
  const counts: CountSource = {
    read: (track, key, hashes) => (key === '["boss"]' ? boss : own).read(track, now_us, hashes, null),
    later: {
      fallsByUs: (track, key, field, by) => (key === '["boss"]' ? boss : own).fallsByUs(track, now_us, field, by),
      at: (later_us) => ({
        read: (track, key, hashes) =>
          (key === '["boss"]' ? boss : own).readLater(track, now_us, later_us, hashes, null),
      }),
    },
  };
  const input = belowBoss({ ...inputOf([daily], pay(900)), counts });
  expect(wouldApproveIf(input, decide(input))).toEqual([atMost(340), from("2026-11-18T14:05:00Z")]);
});
