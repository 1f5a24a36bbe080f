import { expect, test } from "vitest";
import { periodOf } from "./periods.ts";

const now_ms = Date.parse("2026-01-15T10:00:00Z");

test("a month begins and ends at 00:00 UTC, also over the end of a year", () => {
  const last = { from: "2025-12-01T00:00:00.000Z", to: "2026-01-01T00:00:00.000Z" };
  expect(periodOf("last_month", {}, now_ms)).toEqual(last);
  expect(periodOf("this_month", {}, now_ms)).toEqual({ from: "2026-01-01T00:00:00.000Z" });
});

test("the period of the page is that of its filters", () => {
  expect(periodOf("page", { to: "2026-01-02T00:00:00.000Z" }, now_ms)).toEqual({ to: "2026-01-02T00:00:00.000Z" });
});
