import { formatTable } from "../table.ts";
import type { ReplayResult } from "./replay.ts";

/** `skipped` calls had a verdict from an earlier run. `waited_ms` is the time spent on 429. */
export interface ReplayAbout {
  readonly file: string;
  readonly url: string;
  readonly batch: number;
  readonly skipped: number;
  readonly elapsed_ms: number;
  readonly waited_ms: number;
}

const count = (n: number) => n.toLocaleString("en-US");
const ms = (value: number) => `${value.toFixed(1)} ms`;

/** Returns verdict counts, failures by code and latency percentiles as text. */
export function summaryText(about: ReplayAbout, result: ReplayResult): string {
  const decided = Object.values(result.verdicts).reduce((sum, n) => sum + n, 0);
  const seconds = about.elapsed_ms / 1000;
  const share = (n: number) => `${((100 * n) / Math.max(1, decided)).toFixed(1)} %`;
  const rows = Object.entries(result.verdicts).map(([verdict, n]) => [`  ${verdict}`, count(n), share(n)]);
  const { p50_ms, p95_ms, p99_ms, max_ms } = result.latency;
  const each = about.batch === 1 ? "single requests" : `requests of up to ${about.batch} calls`;
  const lines = [
    `${count(decided)} calls of ${about.file} decided by ${about.url} in ${seconds.toFixed(1)} s (${count(Math.round(decided / seconds))}/s)`,
    formatTable(rows, [1, 2]),
    `${count(result.requests)} ${each}: p50 ${ms(p50_ms)}, p95 ${ms(p95_ms)}, p99 ${ms(p99_ms)}, max ${ms(max_ms)}`,
  ];
  if (about.waited_ms > 0)
    lines.push(`${(about.waited_ms / 1000).toFixed(1)} s of that were spent waiting for the rate limit`);
  if (about.skipped > 0) lines.push(`${count(about.skipped)} calls skipped, because an earlier run decided them`);
  if (result.failed > 0) lines.push(`${count(result.failed)} calls FAILED:`);
  for (const [code, { count: n, example }] of Object.entries(result.failures))
    lines.push(`  ${code} × ${count(n)}, e.g. ${example}`);
  return lines.join("\n");
}
