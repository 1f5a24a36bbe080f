/**
 * Measures recorded intents per second of a backtest with 50 policies. Elapsed time includes the start of the threads;
 * processor time excludes it and is more reliable on a busy machine. Also measures the cost for concurrent decisions.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { BacktestFigures, Candidate } from "@countersign/core";
import { readConfig } from "@countersign/server";
import { type OpenedDatabase, openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { createBacktestThreads } from "../../packages/server/src/edge/threads/backtest-threads.ts";
import { newRequestCount } from "../../packages/server/src/edge/threads/give-way.ts";
import { median } from "../median.ts";
import { beside, besideKey } from "./beside.ts";
import { type Past, recordPast } from "./seed.ts";

const help = `usage: npm run bench -- backtest [options]

  --scenario NAME  speed (default): recorded intents per second
                   beside: the time of a decision while a backtest runs, and what is left of the backtest's speed
  --intents N      recorded intents (default 100000)
  --beat MS        beside: a decision is asked for this often (default 0: when the one before is there)
  --rounds N       rounds; medians are reported (default 3)
  --json FILE      also write the figures as JSON`;

const { values: options } = parseArgs({
  options: {
    scenario: { type: "string", default: "speed" },
    beat: { type: "string", default: "0" },
    intents: { type: "string", default: "100000" },
    rounds: { type: "string", default: "3" },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const quiet = () => undefined;
const log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: (fields: object, text: string) => console.error(text, fields),
};

const stricter: Candidate = { thresholds: { escalate_at: 0.3, block_at: 0.8 } };

const count = Number(options.intents);
// The threads run the built program, because the TypeScript loader costs a second and 10 % of speed.
const thread = new URL("../../packages/cli/dist/program/backtest-thread.js", import.meta.url);
const rounds_wanted = Number(options.rounds);

async function speed(instance: OpenedDatabase, past: Past) {
  const threads = createBacktestThreads(instance, new Map(), log, newRequestCount(), {
    url: thread,
    execArgv: [],
  });
  const run = async (candidate: Candidate | null, expected: number, from = past.from, to = past.to) => {
    const filter = { from, to, membrane_id: null, agent_id: null, lineage_id: null, seq: Number.MAX_SAFE_INTEGER };
    const job = {
      org_id: past.org_id,
      filter,
      candidate,
      values: true,
      limit: count,
      asked_us: instance.clock.now_us(),
    };
    const began_ms = performance.now();
    const began = process.cpuUsage();
    const figures: BacktestFigures = await threads.run(job, {
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
    const { user, system } = process.cpuUsage(began);
    const elapsed_ms = performance.now() - began_ms;
    if (figures.evaluated !== expected) throw new Error(`${figures.evaluated} of ${expected} were replayed`);
    if (candidate === null && figures.not_reproduced.total > 0)
      throw new Error(JSON.stringify(figures.not_reproduced).slice(0, 1_000));
    return { elapsed_ms, cpu_us: user + system };
  };
  try {
    // Measures the start of the threads alone.
    const start = await run(null, 0, "1999-01-01T00:00:00Z", "1999-01-02T00:00:00Z");
    const report = [];
    for (const [name, candidate] of [
      ["reproduce", null],
      ["candidate", stricter],
    ] as const) {
      const rounds = [];
      for (let round = 0; round < rounds_wanted; round += 1) rounds.push(await run(candidate, count));
      const elapsed_ms = median(rounds.map((each) => each.elapsed_ms));
      report.push({
        name,
        intents: count,
        intents_per_second: Math.round((count / elapsed_ms) * 1000),
        elapsed_ms: Math.round(elapsed_ms),
        start_ms: Math.round(start.elapsed_ms),
        cpu_us_per_intent: Number(((median(rounds.map((each) => each.cpu_us)) - start.cpu_us) / count).toFixed(1)),
      });
    }
    return report;
  } finally {
    await threads.stop();
  }
}

async function main(): Promise<void> {
  if (!existsSync(thread)) throw new Error("build first: npm run build");
  const directory = mkdtempSync(join(tmpdir(), "bench-backtest-"));
  const data_dir = join(directory, "data");
  const instance = await openDatabase(readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }), log);
  try {
    console.error(`recording ${count} intents …`);
    const past = await recordPast(instance, count);
    console.error(`${past.row_bytes} bytes a row; ${JSON.stringify(past.verdicts)}`);
    let report: object;
    if (options.scenario === "beside") {
      const api_key = await besideKey(instance, past.org_id);
      await instance.close(); // The service opens the database itself.
      const terms = { intents: count, rounds: rounds_wanted, beat_ms: Number(options.beat) };
      report = await beside(data_dir, api_key, past, terms);
    } else report = await speed(instance, past).finally(() => instance.close());
    console.table(report);
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (options.help) console.log(help);
else await main();
