/**
 * Every property test runs on one known seed, so that a change is judged by what it changed. `FC_SEED=<integer>` runs them on
 * another, `FC_SEED=random` on one that nobody chose: the way to look for what the known seed does not find.
 */
import fc from "fast-check";

const wanted = process.env["FC_SEED"] ?? "20261121";
if (wanted !== "random") {
  const seed = Number(wanted);
  if (!Number.isInteger(seed)) throw new Error(`FC_SEED is ${JSON.stringify(wanted)}: give an integer or "random"`);
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
}
