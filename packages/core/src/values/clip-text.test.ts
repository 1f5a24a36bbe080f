import fc from "fast-check";
import { expect, test } from "vitest";
import { anyCharacter } from "../../../../scripts/property-runs.ts";
import { clipText } from "./clip-text.ts";

test.each([
  ["abc", 3, "abc"],
  ["abcd", 3, "abc"],
  ["ab😀", 4, "ab😀"],
  ["ab😀", 3, "ab"],
  ["😀", 1, ""],
  ["👩‍👩‍👧", 3, "👩‍"],
  ["", 0, ""],
])("%j cut to %i units is %j", (text, units_max, expected) => {
  expect(clipText(text, units_max)).toBe(expected);
});

test("a clipped text is valid text, a prefix, and at most one unit shorter than allowed", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.nat(40), (text, units_max) => {
      const cut = clipText(text, units_max);
      expect(/\p{Surrogate}/u.test(cut)).toBe(false);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, units_max) - 1);
      expect(cut.length).toBeLessThanOrEqual(units_max);
    }),
  );
});
