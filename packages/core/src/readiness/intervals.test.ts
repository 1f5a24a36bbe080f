import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countInterval, shareBounds, shareInterval } from "./intervals.ts";

describe("intervals of counts", () => {
  it.each([
    [0, 10, 0, 0.277_532_8],
    [5, 10, 0.236_593_1, 0.763_406_9],
    [10, 10, 0.722_467_2, 1],
    [81, 263, 0.255_296_8, 0.366_178_8],
  ])("Wilson: %i of %i", (count, of, low, high) => {
    const found = shareInterval(count, of);
    expect(found.low).toBeCloseTo(low, 4);
    expect(found.high).toBeCloseTo(high, 4);
  });

  // Table 1 of F. Garwood, Fiducial limits for the Poisson distribution, Biometrika 28, 1936.
  it.each([
    [0, 0, 3.689],
    [1, 0.0253, 5.572],
    [10, 4.795, 18.39],
    [50, 37.11, 65.92],
  ])("Garwood: %i events", (count, low, high) => {
    const found = countInterval(count);
    expect(found.low).toBeCloseTo(low, 2);
    expect(found.high).toBeCloseTo(high, 2);
  });

  it("without a wrong one among 59, the share is below 5 % for sure: the rule of three, exactly", () => {
    expect(shareBounds(0, 59)).toEqual({ low: 0, high: expect.closeTo(1 - 0.05 ** (1 / 59), 9) });
    expect(shareBounds(59, 59)).toEqual({ low: expect.closeTo(0.05 ** (1 / 59), 9), high: 1 });
  });

  it("contains the counted share, and narrows with more decisions", () => {
    const counted = fc.tuple(fc.nat(500), fc.nat(500)).map(([count, more]) => [count, count + more + 1] as const);
    fc.assert(
      fc.property(counted, ([count, of]) => {
        for (const interval of [shareInterval, shareBounds]) {
          const { low, high } = interval(count, of);
          expect(low).toBeLessThanOrEqual(count / of);
          expect(high).toBeGreaterThanOrEqual(count / of);
          const ten = interval(10 * count, 10 * of);
          expect(ten.high - ten.low).toBeLessThan(high - low);
        }
        const { low, high } = countInterval(count);
        expect([low <= count, high > count]).toEqual([true, true]);
      }),
    );
  });
});
