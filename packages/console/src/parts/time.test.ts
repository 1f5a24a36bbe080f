import { expect, test } from "vitest";
import { roughText, spanText } from "./time.tsx";

const hour = 3_600;
const day = 24 * hour;

test.each([
  [24 * hour - 1, "23 h", "24 h"],
  [365 * day - 60, "364 d", "365 d"],
  [7 * day - hour, "6 d", "7 d"],
  [2 * hour + 20 * 60, "2 h", "2 h"],
  [90, "1 min", "2 min"],
  [59, "59 s", "59 s"],
  [5.4, "5 s", "5 s"],
])("rounds %s s to %s for past times and to %s for remaining times", (seconds, over, left) => {
  expect(roughText(seconds)).toBe(over);
  expect(roughText(seconds, Math.round)).toBe(left);
});

test.each([
  [0, "0 s"],
  [12_000, "3 h 20 min"],
  [day, "1 d"],
  [day + 61, "1 d 1 min"],
])("a length of %s s is %s", (seconds, text) => {
  expect(spanText(seconds)).toBe(text);
});
