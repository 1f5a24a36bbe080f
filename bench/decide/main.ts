/**
 * Measures decisions per second of core/decide on one core: no I/O, with reasons and risk. Prints the median of
 * alternating rounds.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type DecideInput, decide } from "@countersign/core";
import { median } from "../median.ts";
import { packDocuments, paymentInputs, setOf } from "./inputs.ts";
import { benchPolicies } from "./policies.ts";

const help = `usage: npm run bench -- decide [options]

  --seconds N    measured seconds per row and round (default 1)
  --rounds N     rounds, rows interleaved; medians are reported (default 5)
  --json FILE    also write the figures as JSON`;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

interface Row {
  readonly name: string;
  readonly inputs: readonly DecideInput[];
  readonly per_second: number[];
}

function row(name: string, inputs: readonly DecideInput[]): Row {
  return { name, inputs, per_second: [] };
}

function run(inputs: readonly DecideInput[], seconds: number): number {
  let decisions = 0;
  const begin = performance.now();
  let elapsed_ms = 0;
  while (elapsed_ms < seconds * 1000) {
    for (let i = 0; i < 10; i += 1) for (const input of inputs) decide(input);
    decisions += inputs.length * 10;
    elapsed_ms = performance.now() - begin;
  }
  return Math.round((decisions / elapsed_ms) * 1000);
}

function verdicts(inputs: readonly DecideInput[]): string {
  const counts = new Map<string, number>();
  for (const input of inputs) {
    const { verdict } = decide(input).content;
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  return [...counts].map(([verdict, count]) => `${verdict} ${count}`).join(", ");
}

if (options.help) {
  console.log(help);
} else {
  const packs = packDocuments();
  const rows = [
    ...[50, 100, 1_000, 10_000].map((count) =>
      row(`${count} policies, 10 match`, paymentInputs(setOf(benchPolicies(count)))),
    ),
    row("50 policies, 10 match, facts stale", paymentInputs(setOf(benchPolicies(50)), 400)),
    row(`all ${packs.length} rules of the packs`, paymentInputs(setOf(packs))),
  ];
  for (const { inputs } of rows) run(inputs, 0.5);
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const each of rows) each.per_second.push(run(each.inputs, Number(options.seconds)));
  }
  const report = rows.map(({ name, inputs, per_second }) => ({
    name,
    decisions_per_second: median(per_second),
    verdicts: verdicts(inputs),
  }));
  for (const { name, decisions_per_second, verdicts: counts } of report) {
    console.log(`${name.padEnd(36)} ${String(decisions_per_second).padStart(9)} decisions/s   (${counts})`);
  }
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
}
