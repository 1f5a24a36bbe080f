/**
 * Measures durable decisions per second of the commit writer alone. `DATABASE_URL=… npx tsx sim/throughput.ts [seconds]
 * [rounds]`; default: an embedded server. Reports each setting's best round, because other work slows rounds on a
 * shared machine.
 */
import { setTimeout as pause } from "node:timers/promises";
import { createClock } from "../packages/server/src/edge/clock.ts";
import { createIds } from "../packages/server/src/edge/ids.ts";
import { timers } from "../packages/server/src/edge/timers.ts";
import { connectCommit, createCommitWriter } from "../packages/server/src/store/commit/commit-writer.ts";
import { type ConnectionOptions, openClient } from "../packages/server/src/store/database/connection.ts";
import { openDb } from "../packages/server/src/store/database/db.ts";
import { createHead } from "../packages/server/src/store/organizations/heads.ts";
import { decisionRows } from "../packages/server/src/testing/database/decision-rows.ts";
import { silentLog } from "../packages/server/src/testing/nodes/silent-log.ts";
import { withDatabase } from "./database.ts";

const seconds = Number(process.argv[2] ?? 3);
const rounds = Number(process.argv[3] ?? 5);
const clock = createClock();
const ids = createIds(clock);

async function measure(
  connection: ConnectionOptions,
  nodes: number,
  organizations: number,
  waiting: number,
  keys: boolean,
): Promise<{ rate: number; text: string }> {
  const db = openDb(connection, silentLog);
  const owner = await openClient(connection, "countersign throughput");
  await owner.query("truncate org_heads, ledger, idempotency_keys");
  await owner.end();
  const orgs = Array.from({ length: organizations }, () => ids.next("organization"));
  for (const org_id of orgs) await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
  const statements: number[] = [];
  const sizes: number[] = [];
  const metrics = {
    statement(rows: number, statement_ms: number) {
      statements.push(statement_ms);
      sizes.push(rows);
    },
  };
  const writers = Array.from({ length: nodes }, () =>
    createCommitWriter({ connect: connectCommit(connection), log: silentLog, clock, timers, metrics }),
  );
  let running = true;
  let committed = 0;
  const latencies: number[] = [];
  const agents = Array.from({ length: waiting * nodes }, async (_, n) => {
    while (running) {
      const started_us = clock.now_us();
      const idempotency_key = keys ? ids.next("request") : undefined;
      const rows = decisionRows(
        ids,
        orgs[n % orgs.length] as string,
        idempotency_key === undefined ? {} : { idempotency_key },
      );
      const outcome = await (writers[n % nodes] as (typeof writers)[0]).commit(rows);
      if (outcome.outcome !== "committed") throw new Error(outcome.outcome);
      latencies.push((clock.now_us() - started_us) / 1000);
      committed += 1;
    }
  });
  const started_us = clock.now_us();
  const cpu = process.cpuUsage();
  await pause(seconds * 1000);
  running = false;
  const { user, system } = process.cpuUsage(cpu);
  const elapsed_s = (clock.now_us() - started_us) / 1e6;
  const done = committed;
  await Promise.all(agents);
  for (const writer of writers) await writer.close();
  await db.close();
  const sorted = latencies.sort((a, b) => a - b);
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const rate = done / elapsed_s;
  const text =
    `${nodes} node(s), ${organizations} organization(s), ${waiting} waiting on each${keys ? ", idempotency keys" : ""}: ` +
    `${Math.round(rate)} decisions/s, p50 ${sorted[sorted.length >> 1]?.toFixed(1)} ms, ` +
    `p99 ${sorted[Math.floor(sorted.length * 0.99)]?.toFixed(1)} ms, ${mean(sizes).toFixed(0)} rows a statement of ${mean(statements).toFixed(1)} ms, ` +
    `${((user + system) / done).toFixed(0)} µs of node's CPU each`;
  return { rate, text };
}

/** `waiting`: concurrent callers on each node. `keys`: they send idempotency keys. */
type Setting = readonly [nodes: number, organizations: number, waiting: number, keys: boolean];
const settings: readonly Setting[] = [
  [1, 1, 64, false],
  [1, 1, 512, false],
  [1, 1, 512, true],
  [1, 50, 512, false],
  [2, 1, 256, false],
  [2, 50, 256, false],
];

await withDatabase(
  async (connection) => {
    const best = settings.map(() => ({ rate: 0, text: "" }));
    for (let round = 0; round < rounds; round++) {
      for (const [index, setting] of settings.entries()) {
        const result = await measure(connection, ...setting);
        if (result.rate > (best[index]?.rate ?? 0)) best[index] = result;
      }
    }
    for (const { text } of best) console.log(text);
  },
  { durable: true },
);
