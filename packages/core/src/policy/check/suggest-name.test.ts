import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../../scripts/property-runs.ts";
import { misspelt, suggestName } from "./suggest-name.ts";

/** Edit distance by definition, with the full table. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1)
      next.push(Math.min((row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]), (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    row = next;
  }
  return row[b.length] ?? 0;
}

test("suggests the first of the nearest names if at most every third character differs", () => {
  const name = fc.string({ unit: fc.constantFrom("a", "b", "c", "."), maxLength: 40 });
  fc.assert(
    fc.property(name, fc.array(name, { maxLength: 8 }), (given, known) => {
      const distances = known.map((each) => edits(given, each));
      const least = Math.min(...distances, Math.floor(Math.min(given.length, 24) / 3) + 1);
      const nearest = known[distances.indexOf(least)];
      const near = least <= Math.floor(Math.min(given.length, 24) / 3);
      expect(suggestName(given, known)).toBe(near && nearest !== undefined ? `Did you mean ${nearest}?` : null);
    }),
    { numRuns: runs(1_000) },
  );
});

test("compares only cells that can be near", () => {
  let looks = 0;
  const watched = (text: string) => {
    const get = (letters: object, member: string | symbol) => {
      if (/^[0-9]+$/.test(String(member))) looks += 1;
      return Reflect.get(letters, member);
    };
    return { toLowerCase: () => new Proxy(Object(text), { get }) } as string;
  };
  expect(suggestName("a".repeat(64), [watched("b".repeat(128)), watched("b".repeat(64))])).toBeNull();
  expect(looks).toBeLessThan(9 * 19);
});

test.each([
  ["payments.transfer", "payment.transfer"],
  ["payment_transfer", "payment.transfer"],
  ["data.exports", "data.export"],
  ["paymnt.transfer", "payment.transfer"],
  ["special-category", "special_category"],
  ["payment.transfer", null],
  ["data.import", null],
  ["payment.payout", null],
  ["shipping.book", null],
  ["pii", null],
  ["phd", null],
  ["payment.*", null],
  ["", null],
])("%s is a misspelled %s", (word, meant) => {
  const known = ["payment.transfer", "payment.refund", "data.export", "data.read", "special_category", "phi", "child"];
  expect(misspelt(word, known)).toBe(meant);
});
