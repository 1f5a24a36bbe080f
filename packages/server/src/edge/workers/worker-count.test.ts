import { expect, test } from "vitest";
import { workersOf } from "./worker-count.ts";

test("auto leaves half of the processors to the database, and one or two of three", () => {
  const counts = [1, 2, 3, 4, 5, 8, 16].map((processors) => workersOf({ workers: "auto" }, processors));
  expect(counts).toEqual([1, 1, 1, 2, 2, 4, 8]);
});

test("a number is used unchanged", () => {
  expect(workersOf({ workers: 3 }, 1)).toBe(3);
});
