import fc from "fast-check";
import { expect, test } from "vitest";
import { isExactNumber } from "./exact-number.ts";

test.each([
  ...["0", "-0", "0.0", "-0e5", "0E-999", "1", "100.10", "0.1", "1e2", "1E+2", "0.01e4", "1e21", "1.5e300", "-1.50"],
  ...["9007199254740991", "9007199254740992", "9007199254740992.0", "12345678901234567000", "1e16", "100e-2"],
  ...["123456789012345680000", "5e-324", "1.7976931348623157e308", `1${"0".repeat(308)}`, `0.${"0".repeat(400)}0`],
])("a double represents %s exactly", (written) => expect(isExactNumber(written)).toBe(true));

test.each([
  ...["9007199254740993", "9007199254740993.0", "-9007199254740993", "9.007199254740993e15", "12345678901234567891"],
  ...["1234567890123456789012", "999999999999999999999", "4503599627370497.75", "1.000000000000000001"],
  ...["0.10000000000000000555", "0.1000000000000000055511151231257827", "12345678901234.567891", "1e400", "-1e400"],
  ...["1e-400", "4e-324", `1${"0".repeat(1_000_000)}1`, `0.${"0".repeat(1_000_000)}1`],
])("no double represents %.40s exactly", (written) => expect(isExactNumber(written)).toBe(false));

test("each double is exact as printed, and in other spellings of the same number", () => {
  fc.assert(
    fc.property(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.nat(9), (value, more) => {
      const [mantissa = "", exponent = "0"] = String(value).split("e");
      const zeros = `${mantissa.includes(".") ? "" : "."}${"0".repeat(more + 1)}`;
      for (const written of [String(value), `${mantissa}${zeros}E${exponent}`])
        expect(isExactNumber(written)).toBe(true);
    }),
  );
});

test("of different numbers that round to one double, at most one is exact", () => {
  fc.assert(
    fc.property(fc.bigInt(10n ** 19n, 10n ** 20n), fc.bigInt(1n, 1_000n), (number, more) => {
      const near = [number, number + more].map(String);
      fc.pre(new Set(near.map(Number)).size === 1);
      expect(near.filter(isExactNumber).length).toBeLessThan(2);
    }),
  );
});
