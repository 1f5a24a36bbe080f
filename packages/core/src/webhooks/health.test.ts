import { expect, test } from "vitest";
import { duration_buckets, durationBucket, durationQuantile } from "./health.ts";

const counted = (durations: readonly number[]) => {
  const counts = Array.from({ length: duration_buckets }, () => 0);
  for (const each of durations) counts[durationBucket(each)] = (counts[durationBucket(each)] ?? 0) + 1;
  return counts;
};

test("p95 is at or above the true one, by at most 25 % and the rounding", () => {
  for (const durations of [[1], [0, 0.4], [120], Array.from({ length: 100 }, (_, n) => n * 97), [9_999, 10_000]]) {
    const sorted = [...durations].sort((a, b) => a - b);
    const exact = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
    const found = durationQuantile(counted(durations), 0.95) ?? -1;
    expect(found).toBeGreaterThanOrEqual(exact);
    expect(found).toBeLessThanOrEqual(Math.max(1, exact) * 1.25 + 1);
  }
});

test("without attempts there is no percentile, and longer attempts than any bound count in the last bucket", () => {
  expect(durationQuantile(counted([]), 0.95)).toBeNull();
  expect(durationBucket(1e9)).toBe(duration_buckets - 1);
});
