import { describe, expect, it } from "vitest";
import { runs } from "../../../scripts/property-runs.ts";
import { compare } from "./differential.ts";
import { expression } from "./expressions.ts";
import { Random } from "./random.ts";

/** In slices, so that a failure names a seed that is quick to repeat. */
const TOTAL = runs(12_000);
const SLICES = Math.ceil(TOTAL / 1_000);
const PER_SLICE = Math.ceil(TOTAL / SLICES);

describe("against @bufbuild/cel", () => {
  for (let seed = 1; seed <= SLICES; seed++) {
    it(`agrees on the value or error of ${PER_SLICE} generated expressions (seed ${seed})`, () => {
      const random = new Random(seed);
      let values = 0;
      for (let i = 0; i < PER_SLICE; i++) {
        const source = expression(random, 1 + random.below(4));
        const { ours, theirs } = compare(source);
        expect(ours, source).toBe(theirs);
        if (ours !== "error") values++;
      }
      // If most expressions failed, agreement would prove little.
      expect(values).toBeGreaterThan(PER_SLICE / 2);
    });
  }
});
