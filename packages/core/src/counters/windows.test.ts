import fc from "fast-check";
import { DateTime } from "luxon";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import type { CounterWindow } from "./definition.ts";
import { windowEndUs, windowStartUs } from "./windows.ts";

const us_per_minute = 60_000_000;
const us_per_hour = 60 * us_per_minute;
const [from_us, to_us] = [Date.UTC(2020, 0, 1) * 1000, Date.UTC(2033, 0, 1) * 1000];
const [changes_from_us, changes_to_us] = [Date.UTC(2025, 0, 1) * 1000, Date.UTC(2027, 0, 1) * 1000];
/** Cairo and Beirut skip midnight when summer time begins, Havana has midnight twice when it ends. Lord Howe shifts by half an hour. */
const zones = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Africa/Cairo",
  "Asia/Beirut",
  "America/Havana",
  "UTC",
];
const units = ["hour", "day", "week", "month"] as const;
const windows = zones.flatMap((zone) => units.map((unit): CounterWindow => ({ kind: "calendar", unit, zone })));

/** The instants at which the offset of a zone changes. */
function changesOf(zone: string): number[] {
  const offset = (at_us: number): number => DateTime.fromMillis(at_us / 1000, { zone }).offset;
  const found: number[] = [];
  const step_us = 12 * us_per_hour;
  for (let at_us = changes_from_us; at_us < changes_to_us; at_us += step_us) {
    let [before, after] = [at_us, at_us + step_us];
    if (offset(before) === offset(after)) continue;
    while (after - before > us_per_minute) {
      const middle = before + Math.round((after - before) / 2 / us_per_minute) * us_per_minute;
      if (offset(middle) === offset(before)) before = middle;
      else after = middle;
    }
    found.push(after);
  }
  return found;
}

function expectOnePeriod(window: CounterWindow, at_us: number): void {
  const [start_us, end_us] = [windowStartUs(window, at_us), windowEndUs(window, at_us)];
  const periods = [start_us, end_us - 1].map((within) => [windowStartUs(window, within), windowEndUs(window, within)]);
  expect({
    window,
    at: new Date(at_us / 1000).toISOString(),
    is_within: start_us <= at_us && at_us < end_us,
    periods,
    end_of_last: windowEndUs(window, start_us - 1),
    start_of_next: windowStartUs(window, end_us),
  }).toEqual({
    window,
    at: new Date(at_us / 1000).toISOString(),
    is_within: true,
    periods: [
      [start_us, end_us],
      [start_us, end_us],
    ],
    end_of_last: start_us,
    start_of_next: end_us,
  });
}

test("every instant is in exactly one period, and periods follow each other without a gap", () => {
  fc.assert(fc.property(fc.constantFrom(...windows), fc.integer({ min: from_us, max: to_us }), expectOnePeriod), {
    numRuns: runs(2_000),
  });
});

test.each(zones.filter((zone) => zone !== "UTC" && zone !== "Asia/Kathmandu"))(
  "so is every instant around a change of clocks in %s",
  (zone) => {
    const changes = changesOf(zone);
    expect(changes.length).toBeGreaterThan(3);
    for (const change_us of changes)
      for (let minutes = -120; minutes <= 120; minutes += 30)
        for (const unit of units)
          for (const micros of [-1, 0])
            expectOnePeriod({ kind: "calendar", unit, zone }, change_us + minutes * us_per_minute + micros);
  },
);

test.each([
  ["day", "Europe/Berlin", "2026-03-29T12:00:00+02:00", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"],
  ["day", "Europe/Berlin", "2026-10-25T12:00:00+01:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"],
  ["hour", "Europe/Berlin", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"],
  ["hour", "Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"],
  ["hour", "Asia/Kathmandu", "2026-06-01T10:05:00+05:45", "2026-06-01T10:00:00+05:45", "2026-06-01T11:00:00+05:45"],
  ["week", "America/New_York", "2026-03-08T20:00:00-04:00", "2026-03-02T00:00:00-05:00", "2026-03-09T00:00:00-04:00"],
  ["month", "America/New_York", "2026-03-31T23:59:59-04:00", "2026-03-01T00:00:00-05:00", "2026-04-01T00:00:00-04:00"],
  [
    "month",
    "Australia/Lord_Howe",
    "2026-04-05T03:00:00+10:30",
    "2026-04-01T00:00:00+11:00",
    "2026-05-01T00:00:00+10:30",
  ],
] as const)("the %s in %s at %s is from %s to %s", (unit, zone, at, start, end) => {
  const window: CounterWindow = { kind: "calendar", unit, zone };
  const us = (text: string): number => Date.parse(text) * 1000;
  expect([windowStartUs(window, us(at)), windowEndUs(window, us(at))]).toEqual([us(start), us(end)]);
});

test("an action leaves a sliding window at the microsecond at which its time is over", () => {
  const at_us = fc.integer({ min: from_us, max: to_us });
  fc.assert(
    fc.property(at_us, fc.integer({ min: us_per_minute, max: 90 * 24 * us_per_hour }), (at, us) => {
      const window: CounterWindow = { kind: "sliding", us };
      expect(windowEndUs(window, at)).toBe(at + us);
      expect(windowStartUs(window, at + us - 1)).toBe(at);
      expect(windowStartUs(window, at + us)).toBe(at + 1);
    }),
    { numRuns: runs(1_000) },
  );
});
