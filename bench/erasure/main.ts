/** Erases a tenth of a long history over HTTP, and checks that every entry, proof and receipt still holds. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { isExtension, parseCheckpoint, parseNote } from "@countersign/core";
import { type Client, createClient } from "@countersign/sdk";
import { verifyReceipt } from "@countersign/sdk/verify";
import { readConfig } from "@countersign/server";
import { createIds } from "../../packages/server/src/edge/ids.ts";
import { openDatabase } from "../../packages/server/src/edge/instance/open-database.ts";
import { startService } from "../http/service.ts";
import { vacuum } from "../vacuum.ts";

const help = `usage: npm run bench -- erasure [options]

  --decisions N    of the history (default 1000000; about 2 KB of disk each)
  --receipts N     to make before and after, for half of them of erased decisions (default 100)
  --json FILE      also write the figures as JSON
  --directory DIR  where the database is made (default: the folder for temporary files)`;

const { values: options } = parseArgs({
  options: {
    decisions: { type: "string", default: "1000000" },
    receipts: { type: "string", default: "100" },
    directory: { type: "string", default: tmpdir() },
    json: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const quiet = () => undefined;
const log = { debug: quiet, info: quiet, warn: quiet, error: console.error };
const people = 10;
const erased_person = "person-3";
const page = 20_000;

async function submitOriginal(base_url: string) {
  const given = { org_name: "Bench", email: "b@example.com", description: "Forgets." };
  const { api_key, org_id } = await createClient({ base_url }).quickstart(given);
  const { intent_id } = await createClient({ base_url, api_key }).submitIntent({
    intent: {
      agent: { id: "billing-agent", session_id: "run-1", on_behalf_of: "person-X" },
      action: { type: "payment.transfer", verb: "send_money", target: { type: "iban", identifier: "GB29NWBK601613" } },
      payload: { summary: "Pay the bill of person-X", content: { recipient: "person-X", amount_usd: 98.7 } },
    },
  });
  return { api_key, org_id, intent_id };
}

type Original = Awaited<ReturnType<typeof submitOriginal>>;

/** Each copy is about one of the people in turn, and has the hash of its leaf. */
const copyStatement = `insert into ledger (org_id, seq, entry, at, type, actor, intent_id, decision_id, membrane_id, agent_id, lineage_id, mode, verdict,
    intent, facts, data, intent_salt, facts_salt, data_salt, hash)
  select org_id, $3::bigint + 2 * c.n, $4::bigint + c.n - 1, l.at, type, actor, c.intent_id, c.decision_id, membrane_id, agent_id, lineage_id, mode, verdict,
    replace(l.intent::text, 'person-X', 'person-' || c.n % ${people})::json, facts,
    replace(replace(l.data::text, l.intent_id, c.intent_id), l.decision_id, c.decision_id)::json, intent_salt, facts_salt, data_salt, hash
  from ledger l, rows from (json_to_recordset($5::json) as (intent_id text, decision_id text)) with ordinality as c(intent_id, decision_id, n)
  where l.org_id = $1 and l.intent_id = $2 and l.type = 'decided'`;

/** Returns the ids of the first copies, in order. */
async function copyDecisions(data_dir: string, { org_id, intent_id }: Original, decisions: number): Promise<string[]> {
  const opened = await openDatabase(readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }), log);
  const { db, connection, clock } = opened;
  const ids = createIds(clock);
  const first: string[] = [];
  try {
    const [head] = await db.query<{ seq: number; entries: number }>(
      `select max(audit_seq) as seq, max(entries) as entries from org_heads where org_id = '${org_id}'`,
    );
    if (head === undefined) throw new Error("the organization has no head");
    for (let done = 0; done < decisions; done += page) {
      const rows = Array.from({ length: Math.min(page, decisions - done) }, () => ({
        intent_id: ids.next("intent"),
        decision_id: ids.next("decision"),
      }));
      if (first.length === 0) first.push(...rows.map((row) => row.intent_id));
      const [seq, entries] = [head.seq + 2 * done, head.entries + done];
      await db.tenant(org_id, async (query) => {
        await query(copyStatement, [org_id, intent_id, seq, entries, JSON.stringify(rows)]);
        const hashed = "update ledger l set hash = ledger_hash(ledger_leaf(l)) where org_id = $1 and seq > $2::bigint";
        await query(hashed, [org_id, seq]);
      });
    }
    await db.query(
      `update org_heads set audit_seq = ${head.seq + 2 * decisions}, entries = ${head.entries + decisions} where org_id = '${org_id}'`,
    );
    await vacuum(connection, "ledger");
    return first;
  } finally {
    await opened.close();
  }
}

async function headOf(client: Client) {
  const note = parseNote(await client.getLogCheckpoint({}));
  const head = note === null ? null : parseCheckpoint(note.text);
  if (head === null) throw new Error("the checkpoint cannot be read");
  return head;
}

async function countReceipts(client: Client, keys: readonly string[], intent_ids: readonly string[]) {
  let [hold, without_content] = [0, 0];
  for (const intent_id of intent_ids) {
    const receipt = await client.getIntentReceipt(intent_id);
    const verdict = await verifyReceipt(receipt, { keys });
    if (verdict.ok) hold += 1;
    if (JSON.parse(receipt).entries[0].documents.intent === null) without_content += 1;
  }
  return { receipts: intent_ids.length, hold, without_content };
}

async function erase(client: Client) {
  const began_ms = performance.now();
  let { erasure_id, status, progress, counts } = await client.eraseSubject("person", erased_person);
  while (status !== "done") {
    console.error(`erased: ${Math.floor(progress * 100)} %`);
    await sleep(5_000);
    ({ status, progress, counts } = await client.getErasure(erasure_id ?? ""));
  }
  return { seconds: Math.round((performance.now() - began_ms) / 1_000), decisions: counts.intents };
}

/** Counts the entries whose stored hash is not the hash of their leaf. */
async function countChanged(data_dir: string, org_id: string, entries: number): Promise<number> {
  const opened = await openDatabase(
    readConfig({ COUNTERSIGN_DATA_DIR: data_dir, PATH: process.env["PATH"] }),
    log,
    "keep_schema",
  );
  try {
    let changed = 0;
    for (let from = 0; from < entries; from += page) {
      const [row] = await opened.db.query<{ changed: number }>(
        `select count(*)::integer as changed from ledger l where org_id = '${org_id}' and entry >= ${from} and entry < ${from + page}
           and hash is distinct from ledger_hash(ledger_leaf(l))`,
      );
      changed += row?.changed ?? Number.NaN;
    }
    return changed;
  } finally {
    await opened.close();
  }
}

async function measure(directory: string, decisions: number, receipts: number) {
  const data_dir = join(directory, "data");
  const first = await startService({ data_dir, log: join(directory, "first.log") });
  const original = await submitOriginal(first.url).finally(() => first.stop());
  console.error("writing the history …");
  const intent_ids = await copyDecisions(data_dir, original, decisions);
  const service = await startService({ data_dir, log: join(directory, "second.log") });
  try {
    const client = createClient({ base_url: service.url, api_key: original.api_key });
    while ((await headOf(client)).size < decisions) await sleep(500);
    const keys = (await client.listLogKeys()).map(({ verifier_key }) => verifier_key);
    const about = (is_erased: boolean) =>
      intent_ids.filter((_, n) => ((n + 1) % people === 3) === is_erased).slice(0, receipts / 2);
    const asked = [...about(true), ...about(false)];
    const before = { head: await headOf(client), ...(await countReceipts(client, keys, asked)) };
    const erased = await erase(client);
    await sleep(2_000);
    const after = { head: await headOf(client), ...(await countReceipts(client, keys, asked)) };
    const { proof } = await client.getLogConsistency({ from: before.head.size, to: after.head.size });
    const hashes = proof.map((hash) => Buffer.from(hash, "base64"));
    return {
      erased,
      receipts_before: { ...before, head: before.head.size },
      receipts_after: { ...after, head: after.head.size },
      later_log_extends_the_earlier: isExtension(before.head, after.head, hashes),
      changed_entries: await countChanged(data_dir, original.org_id, after.head.size),
    };
  } finally {
    await service.stop();
  }
}

async function main(): Promise<void> {
  const directory = mkdtempSync(join(options.directory, "bench-erasure-"));
  try {
    const found = await measure(directory, Number(options.decisions), Number(options.receipts));
    console.log(found);
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(found, null, 2)}\n`);
  } finally {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

if (options.help) console.log(help);
else await main();
