/**
 * Compares in alternating rounds: a node:http JSON echo, the same with a commit, Countersign as a user starts it,
 * Cerbos. Prints medians.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { median } from "../median.ts";
import { cerbos_version, cerbosRequests, startCerbos } from "./cerbos.ts";
import { type CountersignTarget, singleRequests, startCountersign } from "./countersign.ts";
import type { LoadOrder, LoadRequest } from "./load.ts";
import { type Measured, measure } from "./measure.ts";
import { residentMib, type Started, start } from "./processes.ts";
import { print, type Report, soakText, type TargetReport } from "./report.ts";

const help = `usage: npm run bench -- http [options]

  --seconds N       measured seconds per target and round (default 8, after 2 s of warm-up)
  --rounds N        rounds, targets interleaved; medians are reported (default 3)
  --connections N   keep-alive connections, one request in flight on each (default 64)
  --targets LIST    of echo,commits,single,batch,cerbos (default all)
  --soak N          afterwards: N decisions in batches, resident memory at ten points (default 0)
  --json FILE       also write the figures as JSON
  --keep            keep the working directory (logs, database)`;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    targets: { type: "string", default: "echo,commits,single,batch,cerbos" },
    soak: { type: "string", default: "0" },
    json: { type: "string" },
    keep: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

interface Target {
  readonly name: string;
  readonly server: Started;
  readonly decisionsPerAnswer: number;
  readonly order: Pick<LoadOrder, "url" | "headers" | "requests">;
  readonly loopDelayP99?: (() => Promise<number>) | undefined;
}

type Round = Measured & { readonly loop_delay_p99_ms: number | null };

const directory = mkdtempSync(join(tmpdir(), "countersign-bench-"));
const wanted = new Set(options.targets.split(","));
const servers: Started[] = [];
const connections = Number(options.connections);

function startFloor(name: "echo" | "commits"): Promise<Started> {
  return start({
    command: process.execPath,
    args: ["--max-semi-space-size=16", ...process.execArgv, join(import.meta.dirname, `${name}.ts`)],
    env: { COUNTERSIGN_DATA_DIR: join(directory, `${name}-data`) },
    log: join(directory, `${name}.log`),
    findUrl: (printed) => /listening on (\S+)/.exec(printed)?.[1] ?? null,
  });
}

/** The echo gets Countersign's bodies and must send them back. */
function echoRequests(requests: readonly LoadRequest[]): LoadRequest[] {
  return requests.map(({ body }) => ({ body, expect_status: 200, expect_body: body, expect_count: 1 }));
}

async function startTargets(): Promise<{ targets: Target[]; countersign: CountersignTarget | null }> {
  const targets: Target[] = [];
  const countersign = wanted.has("single") || wanted.has("batch") ? await startCountersign(directory) : null;
  if (countersign !== null) servers.push(countersign.server);
  const loopDelayP99 = countersign === null ? undefined : await loopDelayMeter(countersign);
  if (wanted.has("echo")) {
    const server = await startFloor("echo");
    servers.push(server);
    const order = { url: `${server.url}/v1/intents`, headers: {}, requests: echoRequests(singleRequests()) };
    targets.push({ name: "bare node:http echo", server, decisionsPerAnswer: 1, order });
  }
  if (wanted.has("commits")) {
    const server = await startFloor("commits");
    servers.push(server);
    const requests = singleRequests().map((each) => ({ ...each, expect_body: '"verdict":"approve"' }));
    const order = { url: `${server.url}/v1/intents`, headers: {}, requests };
    targets.push({ name: "node:http and commits", server, decisionsPerAnswer: 1, order });
  }
  if (countersign !== null && wanted.has("single")) {
    const order = countersign.single;
    targets.push({
      name: "Countersign, single",
      server: countersign.server,
      decisionsPerAnswer: 1,
      order,
      loopDelayP99,
    });
  }
  if (wanted.has("cerbos")) {
    const server = await startCerbos(directory);
    servers.push(server);
    const order = { url: `${server.url}/api/check/resources`, headers: {}, requests: cerbosRequests() };
    targets.push({ name: `${cerbos_version}, stateless`, server, decisionsPerAnswer: 1, order });
  }
  if (countersign !== null && wanted.has("batch")) {
    const order = countersign.batch;
    targets.push({
      name: "Countersign, batch of 50",
      server: countersign.server,
      decisionsPerAnswer: 50,
      order,
      loopDelayP99,
    });
  }
  return { targets, countersign };
}

/**
 * The service reports the p99 of its timer intervals since the last read. Subtracts the timer's own interval (10 ms),
 * which an idle loop reports.
 */
async function loopDelayMeter({ metric }: CountersignTarget): Promise<() => Promise<number>> {
  await metric("nodejs_eventloop_lag_p50_seconds");
  await sleep(2_000);
  const idle = await metric("nodejs_eventloop_lag_p50_seconds");
  return async () => Math.max(0, (await metric("nodejs_eventloop_lag_p99_seconds")) - idle) * 1000;
}

function summarize(target: Target, rounds: readonly Round[]): TargetReport {
  const of = (read: (round: Round) => number) => median(rounds.map(read));
  return {
    target: target.name,
    decisions_per_s: of((round) => round.answers_per_s) * target.decisionsPerAnswer,
    decisions_per_s_rounds: rounds.map((round) => Math.round(round.answers_per_s * target.decisionsPerAnswer)),
    p50_ms: of((round) => round.p50_ms),
    p99_ms: of((round) => round.p99_ms),
    p999_ms: of((round) => round.p999_ms),
    max_ms: Math.max(...rounds.map((round) => round.max_ms)),
    cpu_server: of((round) => round.cpu_server),
    cpu_children: of((round) => round.cpu_children),
    cpu_load: of((round) => round.cpu_load),
    cpu_others: of((round) => round.cpu_others),
    loop_delay_p99_ms: target.loopDelayP99 === undefined ? null : of((round) => round.loop_delay_p99_ms ?? 0),
    wrong_answers: rounds.reduce((sum, round) => sum + round.wrong, 0),
    first_wrong: rounds.find((round) => round.first_wrong !== null)?.first_wrong ?? null,
    resident_mib: residentMib(target.server.pid),
  };
}

async function soak(countersign: CountersignTarget, decisions: number): Promise<Report["soak"]> {
  const points: { decisions: number; resident_mib: number; heap_mib: number }[] = [];
  const steps = 10;
  for (let step = 1; step <= steps; step += 1) {
    const limits = { connections, warmup_ms: 0, measured_ms: 0, requests_max: Math.ceil(decisions / 50 / steps) };
    const { answers, wrong } = await measure({ ...countersign.batch, ...limits }, countersign.server.pid);
    if (wrong > 0) throw new Error(`${wrong} wrong answers in the soak`);
    const heap_mib = (await countersign.metric("nodejs_heap_size_used_bytes")) / 1024 / 1024;
    const before = points.at(-1)?.decisions ?? 0;
    const point = { decisions: before + answers * 50, resident_mib: residentMib(countersign.server.pid), heap_mib };
    points.push(point);
    console.error(`soak: ${soakText(point)}`);
  }
  return points;
}

async function main(): Promise<void> {
  if (options.help) return console.log(help);
  const { targets, countersign } = await startTargets();
  const bytes_before = countersign?.databaseBytes() ?? 0;
  let answered = 0;
  const rounds = new Map<Target, Round[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const target of targets) {
      const limits = { connections, warmup_ms: 2000, measured_ms: Number(options.seconds) * 1000, requests_max: null };
      await target.loopDelayP99?.(); // Resets the meter.
      const measured = await measure({ ...target.order, ...limits }, target.server.pid);
      answered += measured.answers_in_all * (target.loopDelayP99 === undefined ? 0 : target.decisionsPerAnswer);
      rounds.get(target)?.push({ ...measured, loop_delay_p99_ms: (await target.loopDelayP99?.()) ?? null });
      const rate = Math.round(measured.answers_per_s * target.decisionsPerAnswer);
      console.error(`round ${round + 1}: ${target.name}: ${rate}/s, p99 ${measured.p99_ms.toFixed(1)} ms`);
    }
  }
  const soaked = countersign !== null && Number(options.soak) > 0 ? await soak(countersign, Number(options.soak)) : [];
  answered += soaked.at(-1)?.decisions ?? 0;
  const report: Report = {
    machine: { cores: availableParallelism(), cpu: cpus()[0]?.model ?? "unknown", node: process.version },
    connections,
    targets: [...rounds].map(([target, measured]) => summarize(target, measured)),
    decisions:
      countersign === null
        ? null
        : {
            answered,
            stored: await countersign.storedDecisions(),
            bytes: countersign.databaseBytes() - bytes_before,
          },
    soak: soaked,
  };
  print(report);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  if (report.targets.some((target) => target.wrong_answers > 0)) process.exitCode = 1;
}

try {
  await main();
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  if (!options.keep) rmSync(directory, { recursive: true, force: true });
}
