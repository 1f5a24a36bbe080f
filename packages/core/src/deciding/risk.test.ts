import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { combineRisk, riskScore } from "./risk.ts";

const contribution = fc.record({
  source: fc.constantFrom("a", "b", "c", "d"),
  group: fc.constantFrom("g", "h", "i"),
  value: fc.double({ min: 0, max: 1, noNaN: true }),
});

describe("risk", () => {
  test("is a noisy-or over the greatest value of each group", () => {
    const risk = combineRisk([
      { source: "b", group: "amount", value: 0.3 },
      { source: "a", group: "amount", value: 0.4 },
      { source: "c", group: "channel", value: 0.5 },
    ]);
    expect(risk.score).toBe(0.7);
    expect(risk.contributions.map((one) => one.source)).toEqual(["a", "b", "c"]);
  });

  test("is equal with and without contributions", () => {
    const apart = [
      { source: "a", group: "amount", value: 0.4 },
      { source: "c", group: "channel", value: 0.5 },
      { source: "b", group: "amount", value: 0.3 },
    ];
    expect([riskScore(apart), combineRisk(apart).score]).toEqual([0.7, 0.7]);
    expect([
      riskScore(apart.slice(0, 2)),
      riskScore(apart.slice(1)),
      riskScore(apart.slice(0, 1)),
      riskScore([]),
    ]).toEqual([0.7, 0.65, 0.4, 0]);
  });

  test("is 0 without contributions and 1 with a certain one", () => {
    expect(combineRisk([]).score).toBe(0);
    expect(combineRisk([{ source: "a", group: "a", value: 1 }]).score).toBe(1);
  });

  test("does not depend on the order, and never falls when a contribution is added", () => {
    const shuffled = fc
      .array(contribution, { maxLength: 8 })
      .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));
    fc.assert(
      fc.property(shuffled, contribution, ([all, other], added) => {
        expect(JSON.stringify(combineRisk(other))).toBe(JSON.stringify(combineRisk(all)));
        expect(riskScore(other)).toBe(combineRisk(all).score);
        expect(combineRisk([...all, added]).score).toBeGreaterThanOrEqual(combineRisk(all).score);
        expect(combineRisk(all).score).toBeLessThanOrEqual(1);
      }),
    );
  });
});
