/**
 * Measures the log: how long a proof takes and how much disk the tiles need with many entries, and how many decisions a
 * service makes with and without the reconciler that signs checkpoints.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { isExtension, isIncluded, type TreeHash } from "@countersign/core";
import { createClient } from "@countersign/sdk";
import { readConfig } from "@countersign/server";
import { type OpenedDatabase, openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { createLogKeeper } from "../../packages/server/src/operations/log/keep-log.ts";
import { readCheckpoint, type SignedCheckpoint } from "../../packages/server/src/store/log/read-checkpoint.ts";
import { consistencyProof, inclusionProof } from "../../packages/server/src/store/log/read-proofs.ts";
import { createHead } from "../../packages/server/src/store/organizations/heads.ts";
import type { LoadOrder } from "../http/load.ts";
import { measure } from "../http/measure.ts";
import { startService } from "../http/service.ts";
import { median } from "../median.ts";

const help = `usage: npm run bench -- log [options]

  --entries N      of the long log (default 1000000)
  --proofs N       of each kind; medians and the slowest are reported (default 300)
  --pairs N        of measurements with and without the reconciler, in turns (default 5)
  --seconds N      of each of them (default 8)
  --json FILE      also write the figures as JSON
  --directory DIR  where the database is made (default: the folder for temporary files)`;

const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "1000000" },
    proofs: { type: "string", default: "300" },
    pairs: { type: "string", default: "5" },
    seconds: { type: "string", default: "8" },
    directory: { type: "string", default: tmpdir() },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: console.error, error: console.error };
const org_id = "org_00000000000000000000000001";

async function writeEntries({ db }: OpenedDatabase, entries: number): Promise<void> {
  await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
  const page = 50_000;
  for (let from = 0; from < entries; from += page) {
    const to = Math.min(entries, from + page);
    await db.query(
      `insert into ledger (org_id, seq, entry, at, type, actor, audit_id, data, data_salt, hash)
       select $1, n + 1, n, now(), 'delivered', 'system', 'aud_' || lpad(n::text, 26, '0'), '{}', '\\x00', sha256(n::text::bytea)
       from generate_series($2::bigint, $3::bigint - 1) n`,
      [org_id, from, to],
    );
  }
  await db.query("update org_heads set audit_seq = $2::bigint, entries = $2::bigint where org_id = $1", [
    org_id,
    entries,
  ]);
}

async function timesOf(
  count: number,
  work: (n: number) => Promise<void>,
): Promise<{ fastest_ms: number; median_ms: number; max_ms: number }> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const began_ms = performance.now();
    await work(n);
    times.push(performance.now() - began_ms);
  }
  return {
    fastest_ms: rounded(Math.min(...times)),
    median_ms: rounded(median(times)),
    max_ms: rounded(Math.max(...times)),
  };
}

const rounded = (value: number) => Number(value.toFixed(3));

async function measureProofs(opened: OpenedDatabase, entries: number) {
  const { db, clock, ids } = opened;
  const sealer = createSealer(Buffer.alloc(32, 7));
  const keeper = createLogKeeper({ db, clock, ids, sealer, log, logName: () => "bench" });
  const [began_ms, cpu] = [performance.now(), process.cpuUsage()];
  do await keeper.pass(() => false);
  while (keeper.behind() > 0);
  const { user, system } = process.cpuUsage(cpu);
  const head = (await db.tenant(org_id, (query) => readCheckpoint(query, org_id))) as SignedCheckpoint;
  const taken = {
    entries: head.size,
    taken_up_s: rounded((performance.now() - began_ms) / 1000),
    node_cpu_us_an_entry: rounded((user + system) / head.size),
  };
  const [disk] = await db.query<{ bytes: number }>("select pg_total_relation_size('log_tiles')::float8 as bytes");
  const count = Number(options.proofs);
  const at = (n: number) => Math.floor((((n * 2_654_435_761) % 2 ** 32) / 2 ** 32) * entries);
  const inclusion = await timesOf(count, async (n) => {
    const index = at(n);
    const proof = await db.tenant(org_id, (query) => inclusionProof(query, org_id, index, head.size));
    const [row] = await db.query<{ hash: TreeHash }>("select hash from ledger where org_id = $1 and seq = $2::bigint", [
      org_id,
      index + 1,
    ]);
    if (!isIncluded({ index, size: head.size, root: head.root, leaf_hash: row?.hash ?? Buffer.alloc(0) }, proof))
      throw new Error(`entry ${index} is not included`);
  });
  const consistency = await timesOf(count, async (n) => {
    const proof = await db.tenant(org_id, (query) => consistencyProof(query, org_id, at(n) + 1, head.size));
    if (isExtension({ size: at(n) + 1, root: head.root }, head, proof)) throw new Error("a wrong root was accepted");
  });
  return { ...taken, tile_bytes_an_entry: rounded((disk?.bytes ?? 0) / entries), inclusion, consistency };
}

function loadOn(url: string, api_key: string): LoadOrder {
  const intent = {
    agent: { id: "bench" },
    action: { type: "other.read", verb: "read_page" },
    payload: { content: { page: "terms" } },
  };
  return {
    url: `${url}/v1/intents`,
    headers: { "X-API-Key": api_key },
    requests: [{ body: JSON.stringify({ intent }), expect_status: 201, expect_body: '"verdict"', expect_count: 1 }],
    ...{ connections: 32, warmup_ms: 1_500, measured_ms: Number(options.seconds) * 1_000, requests_max: null },
  };
}

/** A lock on the log's row holds the reconciler off, so both are measured in one run of one service. */
async function measureDecisions(data_dir: string, directory: string) {
  const service = await startService({ data_dir, log: join(directory, "service.log") });
  const opened = await openDatabase(
    readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }),
    log,
    "keep_schema",
  );
  try {
    const client = createClient({ base_url: service.url });
    const { api_key, org_id: org } = await client.quickstart({
      org_name: "Bench",
      email: "b@example.com",
      description: "Log.",
    });
    const order = loadOn(service.url, api_key);
    const behind = async () => {
      const [row] = await opened.db.query<{ behind: boolean }>(
        `select coalesce((select max(audit_seq) from org_heads where org_id = $1) > (select seq from logs where org_id = $1), true) as behind`,
        [org],
      );
      return row?.behind === true;
    };
    const run = async () => {
      const { answers_per_s, cpu_server, cpu_children, wrong, first_wrong } = await measure(order, service.pid);
      if (wrong > 0) throw new Error(first_wrong ?? "wrong answers");
      return { answers_per_s, cpu_us: ((cpu_server + cpu_children) * 1_000_000) / answers_per_s };
    };
    const runWithout = () =>
      opened.db.tenant(org, async (query) => {
        await query("set local idle_in_transaction_session_timeout = 0");
        await query("select from logs where org_id = $1 for update", [org]);
        return run();
      });
    const pairs: { with: Awaited<ReturnType<typeof run>>; without: Awaited<ReturnType<typeof run>> }[] = [];
    for (let n = 0; n < Number(options.pairs); n += 1) {
      // In turns, because the table grows.
      const first = n % 2 === 0 ? await run() : await runWithout();
      while (await behind()) await sleep(200);
      const second = n % 2 === 0 ? await runWithout() : await run();
      while (await behind()) await sleep(200);
      pairs.push(n % 2 === 0 ? { with: first, without: second } : { with: second, without: first });
      console.error(`decisions/s: ${Math.round(first.answers_per_s)}, ${Math.round(second.answers_per_s)}`);
    }
    const ratio = (of: "answers_per_s" | "cpu_us") =>
      rounded(median(pairs.map((pair) => pair.with[of] / pair.without[of])));
    return {
      decisions_per_s: rounded(median(pairs.map((pair) => pair.with.answers_per_s))),
      with_to_without: ratio("answers_per_s"),
      cpu_with_to_without: ratio("cpu_us"),
    };
  } finally {
    await opened.close();
    await service.stop();
  }
}

async function main(): Promise<void> {
  const entries = Number(options.entries);
  const directory = mkdtempSync(join(options.directory, "bench-log-"));
  try {
    const data_dir = join(directory, "proofs");
    const opened = await openDatabase(readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }), log);
    console.error(`writing ${entries.toLocaleString("en-US")} entries …`);
    await writeEntries(opened, entries);
    const proofs = await measureProofs(opened, entries).finally(() => opened.close());
    console.log(proofs);
    const decisions = await measureDecisions(join(directory, "decisions"), directory);
    console.log(decisions);
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ proofs, decisions }, null, 2)}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (options.help) console.log(help);
else await main();
