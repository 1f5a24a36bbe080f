/**
 * `npm run bench -- cel [--json FILE] [--seconds N]`: evaluates 50 policies for 64 fact documents with six engines,
 * after checking that all give the same answers. The best of alternating rounds counts, because noise only slows a
 * round down.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { documents } from "./documents.ts";
import { type Engine, engines } from "./engines.ts";
import { POLICIES, type Subject } from "./policies.ts";

const { values: args } = parseArgs({
  options: {
    json: { type: "string" },
    seconds: { type: "string", default: "0.5" },
    help: { type: "boolean", default: false },
  },
});
if (args.help) {
  console.log("npm run bench -- cel [--json FILE] [--seconds N]   N seconds per engine and round, 6 rounds");
  process.exit(0);
}
const roundMs = Number(args.seconds) * 1000;
const docs = documents(64);
const all = engines(POLICIES);
await verify(all, docs);

const best = new Map<string, number>();
for (let round = 0; round < 6; round++) {
  for (const engine of all)
    best.set(engine.name, Math.max(best.get(engine.name) ?? 0, await setsPerSecond(engine, docs, roundMs)));
}
const compile = all.filter((e) => e.compileOne !== null).map((e) => ({ name: e.name, microseconds: compileTime(e) }));
report();

/** Fails unless all engines agree and at least 10 % of the answers are true. */
async function verify(list: readonly Engine[], documents: readonly Subject[]): Promise<void> {
  const [reference, ...others] = list;
  let fired = 0;
  for (const [n, document] of documents.entries()) {
    const expected = await (reference as Engine).evaluate(document);
    fired += expected.filter((x) => x).length;
    for (const engine of others) {
      const found = await engine.evaluate(document);
      const wrong = POLICIES.findIndex((_, i) => found[i] !== expected[i]);
      if (wrong >= 0)
        throw new Error(
          `${engine.name} differs on document ${n}, policy ${POLICIES[wrong]?.name}: ${JSON.stringify(document)}`,
        );
    }
  }
  const total = documents.length * POLICIES.length;
  if (fired < total / 10) throw new Error(`only ${fired} of ${total} answers are true: the documents are too uniform`);
  console.log(`verified: ${list.length} engines agree on ${total} answers, ${fired} of them true\n`);
}

async function setsPerSecond(engine: Engine, documents: readonly Subject[], ms: number): Promise<number> {
  const start = performance.now();
  let sets = 0;
  let elapsed = 0;
  do {
    for (const document of documents) {
      const answer = engine.evaluate(document);
      // Awaiting a plain array would charge the synchronous engines for a promise.
      if (answer instanceof Promise) await answer;
      sets++;
    }
    elapsed = performance.now() - start;
  } while (elapsed < ms);
  return (sets / elapsed) * 1000;
}

function compileTime(engine: Engine): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 30; round++) {
    const start = performance.now();
    for (const p of POLICIES) engine.compileOne?.(p.cel);
    best = Math.min(best, ((performance.now() - start) / POLICIES.length) * 1000);
  }
  return best;
}

function report(): void {
  const hand = best.get("hand-written closures") ?? 1;
  const own = best.get("@countersign/cel") ?? 1;
  console.log(`${"engine".padEnd(28)}${"sets/s".padStart(12)}${"vs hand".padStart(10)}${"ours is".padStart(10)}`);
  for (const [name, rate] of best) {
    const times = `${(own / rate).toFixed(1)}x`;
    console.log(
      `${name.padEnd(28)}${Math.round(rate).toLocaleString("en-US").padStart(12)}${(rate / hand).toFixed(3).padStart(10)}${times.padStart(10)}`,
    );
  }
  console.log("\nparse and compile, microseconds per condition");
  for (const c of compile) console.log(`${c.name.padEnd(28)}${c.microseconds.toFixed(1).padStart(12)}`);
  if (args.json !== undefined)
    writeFileSync(
      args.json,
      `${JSON.stringify({ sets_per_second: Object.fromEntries(best), compile_us: compile }, null, 2)}\n`,
    );
}
