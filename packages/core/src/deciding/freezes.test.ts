import { describe, expect, test } from "vitest";
import { replayIntent } from "../backtest/replay.ts";
import { inputOf } from "../testing/deciding.ts";
import { decide } from "./decide.ts";
import type { StandingFreeze } from "./decision.ts";
import { freezesOf, freezeText } from "./freezes.ts";

const about = { reason: "it pays twice", frozen_by: "usr_1", frozen_at: "2026-11-28T12:00:00.000000Z" };
const standing = (kind: StandingFreeze["kind"], mode: StandingFreeze["mode"], more = {}): StandingFreeze => ({
  ...{ kind, mode, subject: "", name: "", lineages: [], ...about },
  ...more,
});

describe("freezesOf", () => {
  const agent = standing("agent", "block", { subject: "agent-7" });
  const key = standing("key", "block", { subject: "key_1", lineages: ["key_1", "key_2"] });
  const organization = standing("organization", "escalate");

  test("finds agents in any spelling, keys with the keys they created, and all actors of an organization", () => {
    const freezes = freezesOf([agent, key], new Map());
    expect(freezes.of({ agent_id: "ＡＧＥＮＴ-7", lineage_id: null })).toEqual([agent]);
    expect(freezes.of({ agent_id: "agent-8", lineage_id: "key_2" })).toEqual([key]);
    expect(freezes.of({ agent_id: "agent-7", lineage_id: "key_1" })).toEqual([key, agent]);
    expect(freezes.of({ agent_id: "agent-8", lineage_id: "key_3" })).toEqual([]);
    expect(freezesOf([organization], new Map()).of({ agent_id: "agent-8", lineage_id: null })).toEqual([organization]);
  });
});

test("a freeze of an agent stops the agents below it, by the register or by what the action names", () => {
  const agent = standing("agent", "block", { subject: "boss" });
  const freezes = freezesOf(
    [agent],
    new Map([
      ["worker", "Lead"],
      ["lead", "Boss"],
    ]),
  );
  expect(freezes.of({ agent_id: "WORKER", lineage_id: null })).toEqual([agent]);
  expect(freezes.of({ agent_id: "other", lineage_id: null })).toEqual([]);
  const facts = { ancestors: [{ id: "BOSS", source: "submitted" as const, facts: {} }] };
  expect(freezes.of({ agent_id: "other", lineage_id: null, facts })).toEqual([agent]);
});

describe("decide", () => {
  const policies = [{ name: "ask", spec: { when: "params.amount > 10", effect: "escalate", override: "reviewer" } }];
  const input = (amount: number, freezes: readonly StandingFreeze[]) => ({
    ...inputOf(policies, { intent: { content: { amount } } }),
    freezes,
  });
  const block = standing("agent", "block", { name: "agent-7" });
  const escalate = standing("organization", "escalate");

  test("the strictest freeze decides, and each is a reason", () => {
    const { content, escalation } = decide(input(1, [escalate, block]));
    expect(content.verdict).toBe("block");
    expect(content.reasons.map(({ policy, effect }) => [policy, effect])).toEqual([
      ["freeze.agent", "block"],
      ["freeze.organization", "escalate"],
    ]);
    expect(content.reasons[0]?.message).toBe(freezeText(block));
    expect(escalation).toBeNull();
  });

  test("no override cancels a freeze, even one that names it", () => {
    const overrides = ["freeze.agent", "freeze.organization"];
    expect(decide({ ...input(1, [block]), overrides }).content.verdict).toBe("block");
    expect(decide({ ...input(1, [escalate]), overrides }).content.verdict).toBe("escalate");
  });

  test("an action held only by a freeze waits for an admin, and no timeout approves it", () => {
    const admins = { reviewers: [{ type: "role", id: "admin" }], quorum: 1 };
    const alone = decide(input(1, [escalate])).escalation;
    expect(alone).toMatchObject({ on_timeout: "block", demands: [{ policy: "freeze.organization", ...admins }] });
    const beside = decide(input(11, [escalate])).escalation;
    expect(beside?.demands.map(({ policy }) => policy)).toEqual(["ask", "freeze.organization"]);
  });

  test("a replay uses the recorded freezes", () => {
    const { freezes, ...rest } = input(1, [block]);
    const replayed = replayIntent({ ...rest, attested: false, lifts: ["freeze.agent"], freezes }, rest);
    expect(replayed.verdict).toBe("block");
    expect(replayed.bare_reasons()).toEqual([{ policy: "freeze.agent", effect: "block", unknown: [] }]);
  });
});
