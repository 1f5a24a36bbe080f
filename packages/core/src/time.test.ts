import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatTimestampUs, parseDurationSeconds, parseIsoTimeUs, parseTimestampUs } from "./time.ts";

describe("timestamps", () => {
  test.each([
    ["1970-01-01T00:00:00Z", 0],
    ["1970-01-01T00:00:00.000001Z", 1],
    ["1970-01-01T02:00:00+02:00", 0],
    ["1969-12-31T23:59:59.5Z", -500_000],
    ["2026-11-18T18:00:00.1234569z", 1_795_024_800_123_456],
    ["2016-12-31T23:59:60Z", 1_483_228_799_999_999],
    ["1969-12-31T23:59:60Z", -1],
    ["1990-12-31T15:59:60-08:00", 662_687_999_999_999],
    ["2017-01-01T05:29:60+05:30", 1_483_228_799_999_999],
    ["0000-01-01T00:00:00Z", -62_167_219_200_000_000],
  ])("%s is %d microseconds", (text, us) => {
    expect(parseTimestampUs(text)).toBe(us);
  });

  test.each([
    "2026-02-30T00:00:00Z",
    "2026-01-01",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:00",
    "",
    "x",
    "2026-13-01T00:00:00Z",
    "0000-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-01-31T10:00:60Z",
    "1969-12-31T22:59:60Z",
    "2016-12-31T23:59:60+01:00",
    "2016-12-31T23:59:61Z",
    "2026-01-31T10:00:00+24:00",
    "2026-01-31T10:00:00-23:60",
  ])("%j is no timestamp", (text) => {
    expect(parseTimestampUs(text)).toBeNull();
    expect(parseIsoTimeUs(text)).toBeNull();
  });

  test.each([
    ["2026-01-31T10:00Z", "2026-01-31T10:00:00Z"],
    ["2026-01-31t10:00z", "2026-01-31T10:00:00Z"],
    ["2026-01-31T10:00+05:30", "2026-01-31T04:30:00Z"],
    ["2026-01-31T10:00-0530", "2026-01-31T15:30:00Z"],
    ["2026-01-31T10:00:07.25+0000", "2026-01-31T10:00:07.25Z"],
    ["2026-01-31T10:00:07+01", "2026-01-31T09:00:07Z"],
    ["2026-01-31T10:00:07Z", "2026-01-31T10:00:07Z"],
  ])("%s is ISO 8601 for %s", (text, rfc3339) => {
    expect(parseIsoTimeUs(text)).toBe(parseTimestampUs(rfc3339));
  });

  test.each([
    ...["2026-01-31T10:00", "2026-01-31T10Z", "2026-01-31T10:0Z", "2026-01-31 10:00Z", "2026-01-31T10:00 Z"],
    ...[
      "2026-01-31T10:00+5",
      "2026-01-31T10:00+05:",
      "2026-01-31T10:00+053",
      "2026-01-31T10:00:Z",
      "2026-01-31T10:00ZZ",
    ],
    ...[
      "2026-02-30T10:00Z",
      "2026-01-31T24:00Z",
      "2026-01-31T10:60Z",
      "2026-01-31T10:00+2400",
      "2026-01-31T10:00:07,5Z",
    ],
    ...["20260131T1000Z", "+26-01-31T10:00Z", "2026-01-31T10:00:07.1234567890Z"],
  ])("%j is no ISO 8601 date-time of ours", (text) => {
    expect(parseIsoTimeUs(text)).toBeNull();
  });

  test("formatting and parsing are inverse", () => {
    fc.assert(
      fc.property(fc.integer({ min: -2_000_000_000_000_000, max: 7_000_000_000_000_000 }), (us) => {
        const text = formatTimestampUs(us);
        expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
        expect(parseTimestampUs(text)).toBe(us);
      }),
    );
  });
});

test.each([
  ["90s", 90],
  ["15m", 900],
  ["4h", 14_400],
  ["7d", 604_800],
  ["1h30m", 5_400],
  ["", null],
  ["4", null],
  ["-1h", null],
  ["1.5h", null],
  ["99999999999999999d", null],
])("the duration %j is %j seconds", (text, seconds) => {
  expect(parseDurationSeconds(text)).toBe(seconds);
});
