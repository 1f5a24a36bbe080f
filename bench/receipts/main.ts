/** Measures how long it takes to make a receipt in a long log, and to verify it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { verifyReceipt } from "@countersign/sdk/verify";
import { readConfig } from "@countersign/server";
import { type OpenedDatabase, openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { timers } from "../../packages/server/src/edge/timers.ts";
import { createLogKeeper } from "../../packages/server/src/operations/log/keep-log.ts";
import { listLogKeys } from "../../packages/server/src/operations/log/read-log.ts";
import { readReceipt } from "../../packages/server/src/operations/log/read-receipt.ts";
import type { Caller } from "../../packages/server/src/operations/shared/caller.ts";
import { createHead } from "../../packages/server/src/store/organizations/heads.ts";
import { median } from "../median.ts";

const help = `usage: npm run bench -- receipts [options]

  --entries N      of the log (default 1000000)
  --receipts N     to make and verify, each of a decision and 4 later entries (default 200)
  --json FILE      also write the figures as JSON
  --directory DIR  where the database is made (default: the folder for temporary files)`;

const { values: options } = parseArgs({
  options: {
    entries: { type: "string", default: "1000000" },
    receipts: { type: "string", default: "200" },
    directory: { type: "string", default: tmpdir() },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: console.error, error: console.error };
const org_id = "org_00000000000000000000000001";
const caller = { org_id, scope: "org", role: "auditor", agent_id: null, lineage_id: null } as Caller;

const documents = {
  intent: {
    submitted: {
      agent: { id: "bench" },
      action: { type: "payment.transfer", verb: "pay" },
      payload: { content: { amount_usd: 120, to: "DE89370400440532013000" } },
    },
    decided_as: { type: "payment.transfer", data_classes: [] },
    attested: false,
  },
  decision: { decision_id: "dec_1", verdict: "approve", outcome: "approve", reasons: [], modifications: [] },
};

/** Every `step` entries there is a decision, followed by four entries about it. */
async function writeEntries({ db }: OpenedDatabase, entries: number, step: number): Promise<void> {
  await db.tenant(org_id, (query) => createHead(query, org_id, "2026-11"));
  const page = 50_000;
  for (let from = 0; from < entries; from += page)
    await db.query(
      `insert into ledger (org_id, seq, entry, at, type, actor, audit_id, intent_id, decision_id, membrane_id, agent_id, mode, verdict,
         intent, facts, data, intent_salt, facts_salt, data_salt, hash)
       select $1, n + 1, n, now(), case when is_decision then 'decided' else 'voted' end, 'key_1',
         case when not is_decision then 'aud_' || lpad(n::text, 26, '0') end, intent_id,
         case when is_decision then 'dec_1' end, case when is_decision then 'mem_1' end, case when is_decision then 'bench' end,
         case when is_decision then 'live' end, case when is_decision then 'approve' end,
         case when is_decision then $4::json end, case when is_decision then '{"origins":[]}'::json end,
         case when is_decision then $5::json else '{"outcome":"approve"}'::json end,
         case when is_decision then decode(repeat('01', 16), 'hex') end, case when is_decision then decode(repeat('02', 16), 'hex') end,
         decode(repeat('03', 16), 'hex'), sha256(n::text::bytea)
       from (select n, n % $6::bigint = 0 as is_decision,
           case when n % $6::bigint < 5 then 'int_' || lpad((n / $6::bigint)::text, 26, '0') end as intent_id
         from generate_series($2::bigint, $3::bigint - 1) n) e`,
      [
        org_id,
        from,
        Math.min(entries, from + page),
        JSON.stringify(documents.intent),
        JSON.stringify(documents.decision),
        step,
      ],
    );
  await db.query("update ledger l set hash = ledger_hash(ledger_leaf(l)) where org_id = $1 and intent_id is not null", [
    org_id,
  ]);
  await db.query("update org_heads set audit_seq = $2::bigint, entries = $2::bigint where org_id = $1", [
    org_id,
    entries,
  ]);
  await db.query("analyze ledger");
}

const rounded = (value: number) => Number(value.toFixed(3));

/** `cpu_ms` is of this process, a run. */
async function timesOf(count: number, work: (n: number) => Promise<void>) {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (let n = 0; n < count; n += 1) {
    const began_ms = performance.now();
    await work(n);
    times.push(performance.now() - began_ms);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { median_ms: rounded(median(times)), cpu_ms: rounded((user + system) / 1_000 / count) };
}

async function measure(opened: OpenedDatabase, entries: number, count: number) {
  const { db, clock, ids } = opened;
  await writeEntries(opened, entries, Math.floor(entries / count));
  const sealer = createSealer(Buffer.alloc(32, 7));
  const keeper = createLogKeeper({ db, clock, ids, sealer, log, logName: () => "bench" });
  do await keeper.pass(() => false);
  while (keeper.behind() > 0);
  const keys = (await listLogKeys({ db }, caller)).map(({ verifier_key }) => verifier_key);
  const texts: string[] = [];
  const make = async (n: number) => {
    texts[n] = await readReceipt(
      { db, timers, settings: { log_witnesses: [] } },
      caller,
      `int_${String(n).padStart(26, "0")}`,
    );
  };
  const verify = async (n: number) => {
    const verdict = await verifyReceipt(texts[n] ?? "", { keys });
    if (!verdict.ok) throw new Error(verdict.reason);
  };
  await timesOf(count, make);
  const made = await timesOf(count, make);
  await timesOf(count, verify);
  const verified = await timesOf(count, verify);
  return { entries, receipt_bytes: texts[0]?.length, made, verified };
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(options.directory, "bench-receipts-"));
  try {
    const settings = { COUNTERSIGN_DATA_DIR: join(directory, "data"), PATH: process.env["PATH"] };
    const opened = await openDatabase(readConfig(settings), log);
    const found = await measure(opened, Number(options.entries), Number(options.receipts)).finally(() =>
      opened.close(),
    );
    console.log(found);
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(found, null, 2)}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (options.help) console.log(help);
else await main();
