import { expect, test } from "vitest";
import type { MembraneSettings } from "../deciding/decision.ts";
import { membraneWith } from "./candidate.ts";

test("each threshold of a candidate replaces the membrane's", () => {
  const membrane: MembraneSettings = {
    default_verdict: "approve",
    thresholds: { escalate_at: 0.5, block_at: 0.9 },
    action_catalogue: [],
    facts_max_age: {},
    escalation: { timeout_seconds: 60, on_timeout: "block", reviewers: [], quorum: 1 },
  };
  const thresholdsWith = (thresholds: object) => membraneWith(membrane, { thresholds }).thresholds;
  expect(thresholdsWith({ escalate_at: null })).toEqual({ escalate_at: null, block_at: 0.9 });
  expect(thresholdsWith({ block_at: 0.7 })).toEqual({ escalate_at: 0.5, block_at: 0.7 });
});
