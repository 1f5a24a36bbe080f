/**
 * Every property test runs on one known seed, so that a failure comes from a change of the code. `FC_SEED=<integer>` gives
 * another seed, `FC_SEED=random` a random one. Tests without a count of their own try a share of fast-check's 100 cases.
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
