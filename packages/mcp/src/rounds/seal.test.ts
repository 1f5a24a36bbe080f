import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { Seal } from "./seal.ts";

const [seal, same, other] = ["secret", "secret", "other"].map((secret) => new Seal(secret)) as [Seal, Seal, Seal];

const characters = fc.constantFrom("a", '"', "\0", "ü", "😀");

test("opens what the same secret sealed, and no text with a changed character", () => {
  fc.assert(
    fc.property(fc.string({ unit: characters }), fc.nat(), fc.constantFrom("A", "B", "_", "="), (text, at, char) => {
      const sealed = seal.close(text);
      expect(same.open(sealed)).toBe(text);
      expect(other.open(sealed)).toBeNull();
      const place = at % sealed.length;
      const changed = `${sealed.slice(0, place)}${char}${sealed.slice(place + 1)}`;
      const opened = same.open(changed);
      // The last character has bits that no byte uses.
      if (place < sealed.length - 1 && sealed[place] !== char) expect(opened).toBeNull();
    }),
    { numRuns: runs(300) },
  );
});

test("seals one text differently each time, so that nobody learns whether two calls are equal", () => {
  expect(seal.close("same")).not.toBe(seal.close("same"));
});
