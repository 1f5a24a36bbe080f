import { expect, test } from "vitest";
import { fastText, paceText } from "./pace-text.ts";

test("says which approvals need a reason", () => {
  expect(paceText({ min_seconds: 20, reason_from: 10 })).toBe(
    "An approval needs a reason within 20 s after the case was shown and if it is number 10 or later within five minutes.",
  );
  expect(paceText({})).toBe("");
});

test("says how fast a fast approval was, and what replaces the reason", () => {
  const fast = { because: ["too_soon" as const], approvals_in_five_minutes: 3 };
  expect(fastText({ ...fast, shown_seconds: 1.25, second_person: false })).toBe(
    "Fast: 1.3 s after the case was shown, approval 3 within five minutes; with the reason above.",
  );
  expect(fastText({ ...fast, shown_seconds: null, second_person: true })).toBe(
    "Fast: without a look at the case, approval 3 within five minutes; no reason, so one more person must approve.",
  );
});
