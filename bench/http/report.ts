/**
 * Each figure is the median of all rounds, except `max_ms` (the largest), `wrong_answers` (the sum) and `resident_mib`
 * (at the end). `cpu_…` is in cores: 1 is one core, busy all the time.
 */
export interface TargetReport {
  readonly target: string;
  readonly decisions_per_s: number;
  readonly decisions_per_s_rounds: readonly number[];
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly max_ms: number;
  readonly cpu_server: number;
  readonly cpu_children: number;
  readonly cpu_load: number;
  readonly cpu_others: number;
  /** Null: the target is not the service, so its event loop was not measured. */
  readonly loop_delay_p99_ms: number | null;
  readonly wrong_answers: number;
  readonly first_wrong: string | null;
  readonly resident_mib: number;
}

/** Memory after this many decisions. `heap_mib` includes garbage. */
export interface SoakPoint {
  readonly decisions: number;
  readonly resident_mib: number;
  readonly heap_mib: number;
}

/**
 * `decisions` is null if Countersign was not measured. `answered` counts decisions at the client, `stored` counts them
 * in the database, and `bytes` is their size on disk.
 */
export interface Report {
  readonly machine: { readonly cores: number; readonly cpu: string; readonly node: string };
  readonly connections: number;
  readonly targets: readonly TargetReport[];
  readonly decisions: { readonly answered: number; readonly stored: number; readonly bytes: number } | null;
  readonly soak: readonly SoakPoint[];
}

const columns = [
  "target",
  "decisions/s",
  "p50 ms",
  "p99 ms",
  "p99.9 ms",
  "loop p99",
  "CPU server",
  "CPU postgres",
  "CPU load",
  "CPU others",
  "RSS MiB",
  "wrong",
];

const count = (n: number) => Math.round(n).toLocaleString("en-US");

function cells(row: TargetReport): string[] {
  const cores = [row.cpu_server, row.cpu_children, row.cpu_load, row.cpu_others].map((share) => share.toFixed(2));
  const times = [row.p50_ms, row.p99_ms, row.p999_ms].map((ms) => ms.toFixed(1));
  return [
    row.target,
    count(row.decisions_per_s),
    ...times,
    row.loop_delay_p99_ms?.toFixed(1) ?? "–",
    ...cores,
    row.resident_mib.toFixed(0),
    String(row.wrong_answers),
  ];
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = columns.map((_, n) => Math.max(...rows.map((row) => row[n]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n] ?? 0) : cell.padStart(widths[n] ?? 0))).join("  ");
  return rows.map(line).join("\n");
}

function limit(row: TargetReport, cores: number): string {
  const shares = { server: row.cpu_server, postgres: row.cpu_children, load: row.cpu_load };
  const busy = shares.server + shares.postgres + shares.load + row.cpu_others;
  const split = `${row.target}: ${busy.toFixed(2)} of ${cores} cores busy`;
  if (row.cpu_others > 0.2)
    return `${split}, ${row.cpu_others.toFixed(2)} of them by other programs, so decisions/s is too low`;
  if (shares.server > 0.95 && !row.target.startsWith("Cerbos"))
    return `${split}; limited by the server's one JavaScript thread`;
  if (shares.load > 0.95) return `${split}; limited by the load generator`;
  if (busy > cores * 0.93) return `${split}; limited by the machine's cores, which the load generator shares`;
  return `${split}; no core is fully busy, because the programs wait for round trips and disk syncs`;
}

export function soakText({ decisions, resident_mib, heap_mib }: SoakPoint): string {
  return `after ${count(decisions)} decisions: ${resident_mib.toFixed(0)} MiB resident, heap ${heap_mib.toFixed(0)} MiB`;
}

/** Processor time is per decision, so the time of a batch is divided by 50. Echo is the bare node:http server. */
function figures(report: Report): string[] {
  const of = (start: string) => report.targets.find((row) => row.target.startsWith(start));
  const [echo, commits, single, batch, cerbos] = [
    "bare",
    "node:http and commits",
    "Countersign, single",
    "Countersign, batch",
    "Cerbos",
  ].map(of);
  const lines: string[] = [];
  const ratio = (text: string, part: number | undefined, whole: number | undefined, goal: string) => {
    if (part !== undefined && whole !== undefined && whole > 0)
      lines.push(`${text.padEnd(50)} ${(part / whole).toFixed(2)}  (goal ${goal})`);
  };
  const node_us = (row: TargetReport | undefined) => row && (row.cpu_server * 1e6) / row.decisions_per_s;
  const postgres_us = (row: TargetReport | undefined) => row && (row.cpu_children * 1e6) / row.decisions_per_s;
  ratio("PostgreSQL CPU of a single decision ÷ echo CPU", postgres_us(single), node_us(echo), "≤ 1.3");
  ratio("PostgreSQL CPU of a decision in a batch ÷ echo CPU", postgres_us(batch), node_us(echo), "≤ 1.1");
  ratio("Node CPU of a single decision ÷ echo CPU", node_us(single), node_us(echo), "≤ 3.2");
  ratio("single decisions/s ÷ echo requests/s", single?.decisions_per_s, echo?.decisions_per_s, "≥ 0.30");
  ratio(
    "node:http with commits ÷ echo requests/s",
    commits?.decisions_per_s,
    echo?.decisions_per_s,
    "none, because this target decides nothing",
  );
  ratio(
    "single decisions/s ÷ Cerbos decisions/s, stateless",
    single?.decisions_per_s,
    cerbos?.decisions_per_s,
    "≥ 2.0",
  );
  ratio("decisions/s in batches of 50 ÷ echo requests/s", batch?.decisions_per_s, echo?.decisions_per_s, "≥ 0.5");
  if (report.decisions !== null) {
    const { answered, stored, bytes } = report.decisions;
    lines.push(
      `${"bytes on disk for each decision, with indexes".padEnd(50)} ${count(bytes / stored)}  (goal ≤ 2,500)`,
    );
    const differ = stored === answered ? "" : "  WRONG: the counts differ";
    lines.push(`${"decisions answered / stored".padEnd(50)} ${count(answered)} / ${count(stored)}${differ}`);
  }
  return lines;
}

export function print(report: Report): void {
  const { cores, cpu, node } = report.machine;
  console.log(
    `\n${cores} cores (${cpu}), node ${node}, ${report.connections} connections; servers and load generator share the cores\n`,
  );
  console.log(table([columns, ...report.targets.map(cells)]));
  console.log("");
  for (const line of figures(report)) console.log(line);
  console.log("");
  for (const row of report.targets) console.log(limit(row, cores));
  for (const row of report.targets)
    if (row.first_wrong !== null) console.log(`${row.target}: first wrong answer: ${row.first_wrong}`);
  for (const point of report.soak) console.log(soakText(point));
}
