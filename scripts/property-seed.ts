/**
 * Gives every property test the same seed, so that failures come from code changes. `FC_SEED=<integer>` or
 * `FC_SEED=random` changes it. Tests without their own count run a share of fast-check's 100 cases.
 */
import fc from "fast-check";
import { runs } from "./property-runs.ts";

const wanted = process.env["FC_SEED"] ?? "20261121";
const numRuns = runs(100);
if (wanted === "random") {
  fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns });
} else {
  const seed = Number(wanted);
  if (!Number.isInteger(seed)) throw new Error(`FC_SEED is ${JSON.stringify(wanted)}: give an integer or "random"`);
  fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns, seed });
}
