import { expect, test } from "vitest";
import { quickstartPacks } from "../../packages/core/src/onboarding/intake.ts";
import { replayRecording } from "./recorded-runs.ts";

test("the provenance pack stops the recorded attacks and leaves people's own work alone", () => {
  const figures = replayRecording(["provenance"]);
  expect(figures.calls).toBe(8_064);
  expect(figures.attacks_succeeded).toBe(0);
  expect(figures.benign_untouched).toBeGreaterThanOrEqual(91);
  expect(figures.benign_blocked).toBe(0);
  expect(figures.held).toBeLessThanOrEqual(11.6);
  expect(figures.twins_held).toBeLessThanOrEqual(1.5);
});

test("without facts, the starting packs block no run of a newcomer's own, and hold as few as packs/README.md says", () => {
  const figures = replayRecording(quickstartPacks, { with_facts: false });
  expect(figures.benign_blocked).toBe(0);
  expect(figures.held).toBeCloseTo(17.08, 2);
  expect(figures.benign_untouched).toBeCloseTo(77.21, 2);
});

test("with the pack account they would block some of them", () => {
  expect(replayRecording([...quickstartPacks, "account"], { with_facts: false }).benign_blocked).toBeCloseTo(12.5, 1);
});
