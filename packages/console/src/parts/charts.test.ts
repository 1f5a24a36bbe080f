import { expect, test } from "vitest";
import { niceMax } from "./charts.tsx";

test("ends an axis at a round number at most twice the highest bar", () => {
  expect([1, 2, 3, 7, 10, 11, 202, 285, 1_001].map(niceMax)).toEqual([1, 2, 3, 8, 10, 20, 250, 300, 2_000]);
  for (let value = 1; value < 5_000; value += 1) {
    expect(niceMax(value)).toBeGreaterThanOrEqual(value);
    if (value > 15) expect(value / niceMax(value)).toBeGreaterThanOrEqual(0.5);
  }
});
