import { limits } from "@countersign/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { amountOf, microsOf } from "./amount.ts";

const units_max = limits.counter_amount_max;
const sign = fc.constantFrom("", "-");

test("each number with at most six decimals is an amount of exactly its digits, and comes back as the same double", () => {
  const units = fc.oneof(
    fc.nat({ max: 10_000 }),
    fc.integer({ min: units_max - 100_000, max: units_max - 1 }),
    fc.nat(units_max - 1),
  );
  fc.assert(
    fc.property(sign, units, fc.nat(999_999), (minus, whole, millionths) => {
      const number = Number(`${minus}${whole}.${String(millionths).padStart(6, "0")}`);
      const micros = Number(BigInt(`${minus}${whole}`) * 1_000_000n + BigInt(`${minus}${millionths}`)) + 0;
      expect((microsOf(number) ?? Number.NaN) + 0).toBe(micros);
      expect(amountOf(micros)).toBe(number + 0);
    }),
    { numRuns: runs(20_000) },
  );
});

test("a number with seven decimals is no amount", () => {
  fc.assert(
    fc.property(
      sign,
      fc.nat(1_000_000),
      fc.nat(999_999),
      fc.integer({ min: 1, max: 9 }),
      (minus, whole, millionths, last) => {
        expect(microsOf(Number(`${minus}${whole}.${String(millionths).padStart(6, "0")}${last}`))).toBeNull();
      },
    ),
    { numRuns: runs(5_000) },
  );
});

test.each([units_max + 1, -units_max - 1, Number.NaN, Number.POSITIVE_INFINITY, "5", null, undefined, true])(
  "%s is no amount",
  (value) => expect(microsOf(value)).toBeNull(),
);

test("an integer of CEL is an amount", () => expect(microsOf(5n)).toBe(5_000_000));
