/** `npm run cel:conformance [-- --json] [-- --verbose]`: runs the official suite. Exits with 1 when a test fails. */
import { runTest } from "./run-test.ts";
import { type SpecTest, skipReason, specTests } from "./suite.ts";

export interface FileTally {
  readonly file: string;
  passed: number;
  failed: number;
  skipped: number;
}

export interface Tally {
  readonly files: readonly FileTally[];
  readonly failures: readonly { readonly test: string; readonly expr: string; readonly why: string }[];
  readonly reasons: Readonly<Record<string, number>>;
}

export function runSuite(): Tally {
  const files = new Map<string, FileTally>();
  const failures: { test: string; expr: string; why: string }[] = [];
  const reasons: Record<string, number> = {};
  for (const test of specTests()) {
    const tally = files.get(test.file) ?? { file: test.file, passed: 0, failed: 0, skipped: 0 };
    files.set(test.file, tally);
    const reason = skipReason(test);
    if (reason !== null) {
      tally.skipped++;
      reasons[reason] = (reasons[reason] ?? 0) + 1;
      continue;
    }
    const why = runTest(test);
    if (why === null) tally.passed++;
    else {
      tally.failed++;
      failures.push({ test: label(test), expr: test.expr, why });
    }
  }
  return { files: [...files.values()], failures, reasons };
}

function label(test: SpecTest): string {
  return `${test.file}/${test.section}/${test.name}`;
}

function print(tally: Tally): void {
  const row = (name: string, ...n: (number | string)[]) =>
    console.log(name.padEnd(20) + n.map((x) => String(x).padStart(9)).join(""));
  row("file", "passed", "failed", "skipped");
  for (const f of tally.files) row(f.file, f.passed, f.failed, f.skipped);
  const sum = (key: "passed" | "failed" | "skipped") => tally.files.reduce((n, f) => n + f[key], 0);
  row("total", sum("passed"), sum("failed"), sum("skipped"));
  console.log("\nskipped because of");
  for (const [reason, count] of Object.entries(tally.reasons)) console.log(`${String(count).padStart(6)}  ${reason}`);
  for (const f of tally.failures) console.log(`\nFAILED ${f.test}\n  ${f.expr}\n  ${f.why}`);
}

if (process.argv[1] !== undefined && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  const tally = runSuite();
  if (process.argv.includes("--json")) console.log(JSON.stringify(tally, null, 2));
  else print(tally);
  process.exitCode = tally.failures.length > 0 ? 1 : 0;
}
