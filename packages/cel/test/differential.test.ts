import { describe, expect, it } from "vitest";
import { compare } from "./differential.ts";
import { expression } from "./expressions.ts";
import { Random } from "./random.ts";

/** As many as the issue asks for, in slices, so that a failure names a seed that is quick to repeat. */
const SLICES = 12;
const PER_SLICE = 1_000;

describe("against @bufbuild/cel", () => {
  for (let seed = 1; seed <= SLICES; seed++) {
    it(`agrees on ${PER_SLICE} generated expressions in value or in being an error (seed ${seed})`, () => {
      const random = new Random(seed);
      let values = 0;
      for (let i = 0; i < PER_SLICE; i++) {
        const source = expression(random, 1 + random.below(4));
        const { ours, theirs } = compare(source);
        expect(ours, source).toBe(theirs);
        if (ours !== "error") values++;
      }
      // A generator of nothing but errors would prove nothing.
      expect(values).toBeGreaterThan(PER_SLICE / 2);
    });
  }
});
