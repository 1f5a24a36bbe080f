import { expect, test } from "vitest";
import { zoomedTo } from "./zoom.ts";

const intervals = { start_ms: Date.UTC(2026, 0, 1), bucket_ms: 3_600_000, count: 24, width_px: 240 };
const hours = (from_px: number, to_px: number) => {
  const zoomed = zoomedTo({ from_px, to_px }, intervals);
  return zoomed && [zoomed.from.slice(0, 16), zoomed.to.slice(0, 16)];
};

test.each([
  ["whole intervals that it touches", 31, 52, ["2026-01-01T03:00", "2026-01-01T06:00"]],
  ["the same from right to left", 52, 31, ["2026-01-01T03:00", "2026-01-01T06:00"]],
  ["one interval inside of it", 32, 38, ["2026-01-01T03:00", "2026-01-01T04:00"]],
  ["the end, if it leaves the chart", 215, 900, ["2026-01-01T21:00", "2026-01-02T00:00"]],
  ["the begin, if it leaves the chart", -50, 11, ["2026-01-01T00:00", "2026-01-01T02:00"]],
  ["nothing for a click", 31, 33, null],
  ["nothing for all intervals", -5, 400, null],
])("a drag chooses %s", (_, from_px, to_px, expected) => {
  expect(hours(from_px, to_px)).toEqual(expected);
});
