import { limits, type WarnedKey } from "@countersign/contract";
import { describe, expect, it } from "vitest";
import { judgeReadiness, type ReadinessEvidence } from "./judge-readiness.ts";

const none = { count: 0, per_day: 0, low: 0, high: 0.1 };
const ready: ReadinessEvidence = {
  membrane_id: "mem_1",
  from: "2026-10-18T00:00:00Z",
  to: "2026-11-18T00:00:00Z",
  evidence: { complete: true, decisions: 200, days: 7, first_at: "2026-11-01T00:00:00Z" },
  passes: { count: 180, share: 0.9, low: 0.85, high: 0.94 },
  holds: { count: 20, per_day: 3, low: 2, high: 4 },
  blocks: none,
  reviews: { people: 1, median_seconds: null, hours_per_day: 2 },
  missing_facts: { decisions: 2, share: 0.01, facts: [], next_steps: [] },
  uncovered: { actions: [], tools: [], agents: [] },
  webhooks: { active: 0, failing: [] },
  mail: "working",
  keys: [],
  false_holds: { population: 20, labelled: 0, wrong: 0, share_at_most: null, share_at_least: null, sample: [] },
};
const key: WarnedKey = { key_id: "key_1", name: null, role: "agent", expires_at: "2027-01-01T00:00:00Z", warnings: [] };
const fact = { path: "facts.identity.account_status", decisions: 3, rules: [] };

const cases: readonly (readonly [string, Partial<ReadinessEvidence>, string])[] = [
  ["too_few_decisions", { evidence: { ...ready.evidence, decisions: 199 } }, "199 decisions in shadow"],
  ["too_few_days", { evidence: { ...ready.evidence, days: 6 } }, "from 6 days"],
  ["missing_facts", { missing_facts: { ...ready.missing_facts, decisions: 3, facts: [fact] } }, "15 % of the actions"],
  [
    "uncovered_actions",
    { uncovered: { ...ready.uncovered, actions: [{ verb: "send_sms", type: "unknown", count: 4 }] } },
    "send_sms",
  ],
  ["nobody_can_decide", { reviews: { ...ready.reviews, people: 0 } }, "20 actions would have waited"],
  ["too_many_reviews", { reviews: { ...ready.reviews, hours_per_day: 2.1 } }, "take 2.1 hours. 1 person can give 2"],
  [
    "false_holds",
    { false_holds: { ...ready.false_holds, labelled: 60, wrong: 9, share_at_least: 0.051 } },
    "9 of 60 sampled holds wrong",
  ],
  ["webhooks_failing", { webhooks: { active: 1, failing: [{ webhook_id: "wh_1", failed: 2 }] } }, "wh_1"],
  ["mail", { mail: "off" }, "sends no mails"],
  ["mail", { mail: "delayed" }, "over ten minutes"],
  ["unbound_keys", { keys: [{ ...key, warnings: ["unbound"] }] }, "key_1"],
  ["admin_keys", { keys: [{ ...key, role: "admin", warnings: ["admin_submits"] }] }, "key_1"],
];

describe("the readiness of a membrane", () => {
  it("is given at the edge of every limit", () => {
    const share_at_least = limits.readiness_false_holds_share_max;
    const edge = { ...ready, false_holds: { ...ready.false_holds, labelled: 60, wrong: 8, share_at_least } };
    expect(judgeReadiness(edge)).toEqual([]);
  });

  it.each(cases)("is not given: %s", (code, change, text) => {
    const [reason, ...others] = judgeReadiness({ ...ready, ...change });
    expect(others).toEqual([]);
    expect(reason).toMatchObject({ code, message: expect.stringContaining(text) });
    expect(reason?.next_step).not.toBe("");
  });

  it("names every reason, and only one while decisions are being counted", () => {
    const all = Object.assign({}, ready, ...cases.slice(0, 4).map(([, change]) => change));
    const evidence = { ...ready.evidence, decisions: 0, days: 0 };
    expect(judgeReadiness({ ...all, evidence }).map(({ code }) => code)).toEqual([
      "too_few_decisions",
      "too_few_days",
      "missing_facts",
      "uncovered_actions",
    ]);
    expect(judgeReadiness({ ...all, evidence: { ...evidence, complete: false } })).toMatchObject([
      { code: "counting" },
    ]);
  });

  it("needs neither reviewers nor mail while nothing would be held", () => {
    const change = {
      holds: none,
      reviews: { people: 0, median_seconds: null, hours_per_day: 0 },
      mail: "off",
    } as const;
    expect(judgeReadiness({ ...ready, ...change, missing_facts: { ...ready.missing_facts, decisions: 0 } })).toEqual(
      [],
    );
  });
});
