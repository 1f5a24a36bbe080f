import { usStateCodes } from "@countersign/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import {
  inCallingWindow,
  inFederalWindow,
  localHourConsistent,
  nextCallingWindow,
  recipientStates,
} from "./calling.ts";
import { callingHours } from "./tables/calling-hours.ts";

const STATES: readonly string[] = usStateCodes;

const at = (text: string): number => Date.parse(text);
const WEDNESDAY_18_UTC = at("2026-11-18T18:00:00Z");

describe("inFederalWindow", () => {
  test.each([
    [7, false],
    [8, true],
    [20, true],
    [21, false],
    [0, false],
    [23, false],
    [24, false],
    [-1, false],
    [8.5, false],
    ["12", false],
    [null, false],
  ])("%j is %j", (hour, expected) => {
    expect(inFederalWindow(hour)).toBe(expected);
  });

  test("a big integer is accepted as an hour", () => {
    expect(inFederalWindow(12n)).toBe(true);
    expect(inFederalWindow(21n)).toBe(false);
  });
});

describe("localHourConsistent", () => {
  test("an hour that some US clock shows is possible, any other is not", () => {
    // 18:00 UTC is 14:00 in Puerto Rico (UTC-4), 07:00 in Samoa (UTC-11), and 04:00 the next day on Guam (UTC+10).
    const possible = Array.from({ length: 26 }, (_, hour) => hour).filter((hour) =>
      localHourConsistent(WEDNESDAY_18_UTC, hour),
    );
    expect(possible).toEqual([4, 7, 8, 9, 10, 11, 12, 13, 14]);
  });

  test.each(["12", null, 12.5, Number.NaN, {}, -1, 24])("%j is not an hour", (hour) => {
    expect(localHourConsistent(WEDNESDAY_18_UTC, hour)).toBe(false);
  });
});

describe("inCallingWindow", () => {
  test.each([
    ["FL 19", "2026-11-19T00:10:00Z", ["FL"], 19, true],
    ["FL 20", "2026-11-19T01:10:00Z", ["FL"], 20, false],
    ["FL 8", "2026-11-18T13:10:00Z", ["FL"], 8, true],
    ["FL 7", "2026-11-18T12:10:00Z", ["FL"], 7, false],
    ["NY 20 keeps the federal window", "2026-11-19T01:10:00Z", ["NY"], 20, true],
    ["NY 21", "2026-11-19T02:10:00Z", ["NY"], 21, false],
    ["wa in lower case", "2026-11-19T03:10:00Z", ["wa"], 19, true],
    ["TX Sunday 11", "2026-11-22T17:10:00Z", ["TX"], 11, false],
    ["TX Sunday 12", "2026-11-22T18:10:00Z", ["TX"], 12, true],
    ["TX Monday 9", "2026-11-23T15:10:00Z", ["TX"], 9, true],
    ["TX still Sunday there though Monday in UTC", "2026-11-23T02:10:00Z", ["TX"], 20, true],
    ["UT Sunday", "2026-11-22T18:10:00Z", ["UT"], 11, false],
    ["RI Saturday 16", "2026-11-21T21:10:00Z", ["RI"], 16, true],
    ["RI Saturday 17", "2026-11-21T22:10:00Z", ["RI"], 17, false],
    ["both of two states must allow", "2026-11-19T01:10:00Z", ["NY", "FL"], 20, false],
    ["no state, Wednesday 10", "2026-11-18T15:10:00Z", [], 10, true],
    ["no state, Wednesday 9", "2026-11-18T14:10:00Z", [], 9, false],
    ["no state, Wednesday 17", "2026-11-18T22:10:00Z", [], 17, true],
    ["no state, Wednesday 18", "2026-11-18T23:10:00Z", [], 18, false],
    ["no state, Saturday 16", "2026-11-21T21:10:00Z", [], 16, true],
    ["no state, Saturday 17", "2026-11-21T22:10:00Z", [], 17, false],
    ["no state, Sunday noon", "2026-11-22T17:10:00Z", [], 12, false],
    ["a code that is no state satisfies every state", "2026-11-18T23:10:00Z", ["ZZ"], 18, false],
    ["junk for states satisfies every state", "2026-11-18T23:10:00Z", 7, 18, false],
    ["an impossible clock far from a Sunday", "2026-11-19T00:10:00Z", ["UT"], 12, true],
    ["an impossible clock must hold on every near day", "2026-11-21T23:10:00Z", ["UT"], 11, false],
    ["junk for the hour", "2026-11-18T18:00:00Z", ["NY"], "12", false],
  ])("%s", (_name, now, states, hour, expected) => {
    expect(inCallingWindow(at(now), states, hour)).toBe(expected);
  });

  test("a known state never permits less than an unknown one", () => {
    const state = fc.constantFrom(...STATES);
    const now = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") });
    fc.assert(
      fc.property(now, state, fc.integer({ min: -1, max: 25 }), (now_ms, known, hour) => {
        if (inCallingWindow(now_ms, [], hour)) expect(inCallingWindow(now_ms, [known], hour)).toBe(true);
        if (inCallingWindow(now_ms, [known], hour)) expect(inFederalWindow(hour)).toBe(true);
      }),
      { numRuns: runs(3_000) },
    );
  });
});

describe("nextCallingWindow", () => {
  test.each([
    ["evening in New York", "2026-11-19T02:10:00Z", ["NY"], 21, "2026-11-19T13:00:00Z"],
    ["Saturday evening in Utah waits for Monday", "2026-11-22T04:10:00Z", ["UT"], 21, "2026-11-23T15:00:00Z"],
    ["an impossible hour is taken at its word", "2026-11-18T18:10:00Z", ["NY"], 21, "2026-11-19T05:00:00Z"],
    ["no state waits for an hour that every state permits", "2026-11-22T04:10:00Z", [], 21, "2026-11-23T17:00:00Z"],
    ["a military code counts as no state", "2026-11-22T04:10:00Z", ["AE"], 21, "2026-11-23T17:00:00Z"],
    ["the night summer time ends is an hour longer", "2026-11-01T01:10:00Z", ["FL"], 21, "2026-11-01T13:00:00Z"],
    ["and so is the wait that ends on Monday after it", "2026-11-01T01:10:00Z", ["AL"], 20, "2026-11-02T14:00:00Z"],
    ["the night after it is not", "2026-11-02T02:10:00Z", ["FL"], 21, "2026-11-02T13:00:00Z"],
    ["one hour late after summer time begins", "2026-03-08T02:10:00Z", ["FL"], 21, "2026-03-08T13:00:00Z"],
    ["junk has none", "2026-11-18T18:10:00Z", ["NY"], "x", ""],
  ])("%s", (_name, now, states, hour, expected) => {
    expect(nextCallingWindow(at(now), states, hour)).toBe(expected);
  });

  test("the returned hour is permitted when it begins", () => {
    const start = at("2026-11-18T00:00:00Z");
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 24 * 14 }),
        fc.integer({ min: 4, max: 11 }),
        fc.constantFrom(...STATES),
        (hours, behind, state) => {
          const now_ms = start + hours * 3_600_000;
          const hour = ((hours % 24) - behind + 24) % 24;
          const next = nextCallingWindow(now_ms, [state], hour);
          expect(next).not.toBe("");
          const there = (((new Date(at(next)).getUTCHours() - behind) % 24) + 24) % 24;
          expect(inCallingWindow(at(next), [state], there)).toBe(true);
        },
      ),
      { numRuns: runs(1_000) },
    );
  });
});

describe("recipientStates", () => {
  test.each([
    [{ environmental: { recipient_state: "fl" } }, ["FL"]],
    [{ environmental: { recipient_state: "NY" }, regulatory: { recipient_state: "FL" } }, ["NY", "FL"]],
    [{ environmental: { recipient_state: "NY" }, regulatory: { recipient_state: "ny" } }, ["NY"]],
    [{ regulatory: { tcpa: { recipient_state: "OK" } } }, ["OK"]],
    [{ environmental: { recipient_state: null } }, []],
    [{ environmental: { recipient_state: 7 } }, []],
    [{}, []],
    [null, []],
  ])("of %j is %j", (facts, states) => {
    expect(recipientStates(facts)).toEqual(states);
  });
});

test("every row of the table names a real state, is inside the federal window and cites its law", () => {
  for (const row of callingHours) {
    expect(STATES.includes(row.state), row.state).toBe(true);
    expect(row.source.length).toBeGreaterThan(5);
    expect(row.verified_on).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(row.week).toHaveLength(7);
    for (const hours of row.week)
      if (hours !== null) expect(hours[0] >= 8 && hours[1] <= 20 && hours[0] <= hours[1]).toBe(true);
  }
  expect(callingHours.map((row) => row.state)).toEqual([...callingHours.map((row) => row.state)].sort());
});

test("no input makes any of these functions throw", () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything({ withBigInt: true }), (states, hour) => {
      expect(typeof inCallingWindow(WEDNESDAY_18_UTC, states, hour)).toBe("boolean");
      expect(typeof nextCallingWindow(WEDNESDAY_18_UTC, states, hour)).toBe("string");
      expect(typeof localHourConsistent(WEDNESDAY_18_UTC, hour)).toBe("boolean");
      expect(Array.isArray(recipientStates(states))).toBe(true);
    }),
    { numRuns: runs(1_000) },
  );
});
