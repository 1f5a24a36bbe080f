import { expect, test } from "vitest";
import { isReason, judgePace, strictestPace } from "./pace.ts";
import type { CountedDemand } from "./panels.ts";

const demand = (pace?: CountedDemand["pace"]): CountedDemand => ({
  ...{ policy: "p", reviewers: [], quorum: 1, approved_by: [] },
  ...(pace === undefined ? {} : { pace }),
});
const measured = (shown_seconds: number | null, approvals_in_five_minutes: number) => ({
  shown_seconds,
  approvals_in_five_minutes,
});

test("the strictest pace has the longest time and the smallest number", () => {
  expect(
    strictestPace([{ min_seconds: 5, reason_from: 9 }, null, undefined, { min_seconds: 7, reason_from: 10 }]),
  ).toEqual({ min_seconds: 7, reason_from: 9 });
  expect(strictestPace([null, {}, undefined])).toBe(undefined);
});

test.each<[shown: number | null, approvals: number, because: string[] | null]>([
  [5, 2, null],
  [4.999, 2, ["too_soon"]],
  [null, 1, ["too_soon"]],
  [5, 3, ["too_many"]],
  [0, 4, ["too_soon", "too_many"]],
])("%s s after the case was shown, as number %s: %s", (shown, approvals, because) => {
  const judged = judgePace([demand(), demand({ min_seconds: 5, reason_from: 3 })], [0, 1], measured(shown, approvals));
  expect(judged?.because ?? null).toEqual(because);
  if (judged !== null) expect(judged.places).toEqual([1]);
});

test("only the pace of demands that the approval counts for matters", () => {
  expect(judgePace([demand(), demand({ min_seconds: 5 })], [0], measured(null, 1))).toBe(null);
});

test.each([
  [undefined, false],
  ["", false],
  [" \n\u200b.-!", false],
  ["ok", false],
  ["yes", true],
  [" 4 2 a ", true],
])("%j is a reason: %s", (text, is) => {
  expect(isReason(text)).toBe(is);
});
