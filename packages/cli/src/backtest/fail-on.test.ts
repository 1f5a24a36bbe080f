import type { Backtest } from "@countersign/contract";
import { describe, expect, test } from "vitest";
import { parseFailOn } from "./fail-on.ts";

const backtest: Backtest = {
  backtest_id: "bkt_01KAAAAAAAAAAAAAAAAAAAAAAA",
  evaluated: 200,
  elapsed_ms: 10,
  reproduced: null,
  not_reproduced: { total: 0, intents: [] },
  transitions: [
    { from: "approve", to: "approve", count: 150 },
    { from: "approve", to: "block", count: 4 },
    { from: "approve", to: "escalate", count: 6 },
    { from: "block", to: "block", count: 38 },
    { from: "escalate", to: "block", count: 2 },
  ],
  flips: [],
  flips_total: 12,
  flip_groups: [],
  verdicts: {
    ...{ days: 1, days_seen: 1 },
    recorded: { approve: 160, approve_modified: 0, escalate: 2, block: 38 },
    candidate: { approve: 150, approve_modified: 0, escalate: 6, block: 44 },
  },
  agrees_with_reviewers: { rulings: 10, agreed: 9, share: 0.9, low: 0.6, high: 0.98 },
  per_policy: [],
  unknown_facts: [],
  escalations_per_day: { recorded: 1, candidate: 2.5 },
  human_agreement: 0.9,
};

describe("--fail-on", () => {
  test.each<[string, number | null, boolean]>([
    ["approve->block>0", 4, true],
    ["approve->block>4", 4, false],
    ["approve->block>=4", 4, true],
    ["block -> approve > 0", 0, false],
    ["any->block>5", 6, true],
    ["approve->any<10", 10, false],
    ["any->any>=12", 12, true],
    ["block->block<38", 38, false],
    ["approve->block>1.5%", 2, true],
    ["flips>=6%", 6, true],
    ["flips<12", 12, false],
    ["escalations_per_day>2", 2.5, true],
    ["human_agreement<0.95", 0.9, true],
    ["reproduced<1", null, false],
    ["not_reproduced>0", 0, false],
  ])("%s", (text, value, met) => {
    expect(parseFailOn(text).judge(backtest)).toEqual({ value, met });
  });

  test.each([
    "",
    "approve->block",
    "approve->blocked>0",
    "approve>block>0",
    "approve->block=0",
    "approve->block>-1",
    "approve->block>0 or flips>1",
    "flips",
    "flip>0",
    "human_agreement<95%",
    "constructor>0",
    "approve->block>>0",
  ])("refuses %j and names the valid form", (text) => {
    expect(() => parseFailOn(text)).toThrow(/is not a condition[\s\S]*FROM->TO/);
  });

  test("meets no condition on a share if nothing was replayed", () => {
    expect(parseFailOn("flips>0%").judge({ ...backtest, evaluated: 0, flips_total: 0 })).toEqual({
      value: 0,
      met: false,
    });
  });
});
