import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countInterval, type Interval, shareBounds, shareInterval } from "./intervals.ts";

/** The promise of the readiness: an interval has the true figure in at least this share of cases. */
const covered_min = 0.93;

/** Returns the probability of the numbers of events up to `most` that `holds` is true for. `ln`: the logarithm of one. */
function covered(ln: (count: number) => number, most: number, holds: (count: number) => boolean): number {
  let sum = 0;
  for (let count = 0; count <= most; count += 1) if (holds(count)) sum += Math.exp(ln(count));
  return sum;
}

const factorials = [0];
for (let n = 1; n <= 2_000; n += 1) factorials.push((factorials[n - 1] as number) + Math.log(n));
const lnFactorial = (n: number) => factorials[n] as number;

/** Returns how often, exactly, the interval of a sample of `of` actions contains the true `share`. */
function coverageOfShare(interval: (count: number, of: number) => Interval, share: number, of: number): number {
  const ln = (count: number) =>
    lnFactorial(of) -
    lnFactorial(count) -
    lnFactorial(of - count) +
    count * Math.log(share) +
    (of - count) * Math.log(1 - share);
  return covered(ln, of, (count) => {
    const { low, high } = interval(count, of);
    return low <= share && share <= high;
  });
}

const shares = fc.double({ min: 0.02, max: 0.98, noNaN: true });

describe("intervals have the true figure at least as often as they promise", () => {
  it("Wilson: the share of actions that pass, from 200 decisions on", () => {
    fc.assert(
      fc.property(shares, fc.integer({ min: 200, max: 1_000 }), (share, of) => {
        expect(coverageOfShare(shareInterval, share, of)).toBeGreaterThanOrEqual(covered_min);
      }),
    );
  });

  it("Garwood: holds and blocks of a period", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 300, noNaN: true }), (expected) => {
        const ln = (count: number) => count * Math.log(expected) - expected - lnFactorial(count);
        const share = covered(ln, Math.ceil(expected + 20 * Math.sqrt(expected) + 20), (count) => {
          const { low, high } = countInterval(count);
          return low <= expected && expected <= high;
        });
        expect(share).toBeGreaterThanOrEqual(covered_min);
      }),
    );
  });

  it.each(["low", "high"] as const)("Clopper and Pearson: the %s bound of the share of wrong holds", (side) => {
    const bound = (count: number, of: number) => ({ low: 0, high: 1, [side]: shareBounds(count, of)[side] });
    fc.assert(
      fc.property(shares, fc.integer({ min: 1, max: 200 }), (share, of) => {
        expect(coverageOfShare(bound, share, of)).toBeGreaterThanOrEqual(covered_min);
      }),
    );
  });
});
