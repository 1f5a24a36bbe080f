import { expect, test } from "vitest";
import { changeText } from "./rows-behind.ts";

test.each([
  [0, 0, ""],
  [7, 7, "as before"],
  [47, 38, "+9"],
  [27, 29, "−2"],
  [104, 100, "+4 %"],
  [50, 200, "−75 %"],
  [5_000, 0, "+5,000"],
])("%d after %d is %j", (now, before, text) => {
  expect(changeText(now, before)).toBe(text);
});
