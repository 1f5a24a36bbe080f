/**
 * `npm run long-run -w @countersign/cel -- [--inputs N] [--expressions N] [--seed N]`
 *
 * Parses N random inputs (default 1,000,000) and compares N expressions (default 100,000) with @bufbuild/cel. Exits
 * with 1 at the first disagreement, error other than `CelSyntaxError`, or input that takes more than 50 ms three times.
 */
import { parseArgs } from "node:util";
import { CelSyntaxError, DYN, environment, parse } from "../src/index.ts";
import { compare } from "./differential.ts";
import { expression } from "./expressions.ts";
import { garbage, mutated } from "./garbage.ts";
import { Random } from "./random.ts";

const { values } = parseArgs({
  options: {
    inputs: { type: "string", default: "1000000" },
    expressions: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
  },
});
const LIMIT_MS = 50;
const env = environment({ variables: { a: DYN, b: DYN, s: DYN, n: DYN, o: DYN } });

function fail(what: string, source: string): never {
  console.error(`${what}\n${JSON.stringify(source)}`);
  process.exit(1);
}

function time(source: string): number {
  const start = performance.now();
  try {
    env.check(parse(source));
  } catch (e) {
    if (!(e instanceof CelSyntaxError)) fail(String(e), source);
  }
  return performance.now() - start;
}

const random = new Random(Number(values.seed));
let slowest = { ms: 0, source: "" };
let parsed = 0;
const inputs = Number(values.inputs);
for (let i = 0; i < inputs; i++) {
  const source = random.chance(0.5) ? garbage(random) : mutated(random);
  let ms = time(source);
  // Repeats, because a garbage collection may have caused the delay.
  if (ms > LIMIT_MS) ms = Math.min(ms, time(source), time(source));
  if (ms > LIMIT_MS) fail(`${ms.toFixed(1)} ms`, source);
  if (ms > slowest.ms) slowest = { ms, source };
  parsed++;
}
console.log(
  `${parsed} inputs parsed and checked, the slowest in ${slowest.ms.toFixed(1)} ms (${slowest.source.length} characters)`,
);

let values_seen = 0;
const expressions = Number(values.expressions);
for (let i = 0; i < expressions; i++) {
  const source = expression(random, 1 + random.below(4));
  const { ours, theirs } = compare(source);
  if (ours !== theirs) fail(`ours ${ours}, theirs ${theirs}`, source);
  if (ours !== "error") values_seen++;
}
console.log(`${expressions} expressions agree, ${values_seen} of them with a value`);
