/** Reads the evidence of a period from a service and writes it into an archive (decision 0068). */
import type { ExportProgress, LogKey, OrgAuditRecord } from "@countersign/contract";
import { type ExportedDecision, parseCheckpoint, parseNote } from "@countersign/core";
import { type Client, pagesOf } from "@countersign/sdk";
import { readVerifyPage } from "@countersign/server";
import { CommandFailed } from "../command-failed.ts";
import { answered } from "../service.ts";
import { archive_format, type Manifest, margin_ms, names, receiptName } from "./layout.ts";
import { type Run, type Runs, startRuns } from "./leaf-runs.ts";
import { readRangeProof } from "./range-proof.ts";
import { readInForce } from "./read-in-force.ts";
import { linesTo, type Making, objectIn, type Period, recordsOf, within } from "./reading.ts";
import { type Summary, type SummaryTaker, startSummary } from "./summary.ts";
import { readmeText, summaryPage } from "./summary-page.ts";

export interface Made {
  readonly summary: Summary;
  readonly as_of_seq: number;
}

/** Writes all files of the archive, the manifest last. Throws CommandFailed, which names the part that could not be read. */
export async function makeArchive(making: Making): Promise<Made> {
  const { client, zip, caller, period } = making;
  const { from, to } = period;
  const receipts = await part("receipts", () => addReceipts(making));
  const { as_of_seq } = receipts;
  const checkpoint = receipts.checkpoint ?? (await part("the checkpoint", () => client.getLogCheckpoint()));
  const taker = startSummary();
  const decisions = await part("decisions", () => addDecisions(making, as_of_seq, taker));
  if (decisions !== receipts.count)
    throw new CommandFailed(
      `the service sent ${decisions} decisions and ${receipts.count} receipts: run the command again`,
    );
  const runs = await part("the audit trail", () => addAudit(making, as_of_seq, taker));
  const summary = taker.taken();
  if (summary.decisions === 0 && summary.audit_records === 0)
    throw new CommandFailed(`nothing was recorded from ${from}, before ${to}: there is no evidence to write`);
  const in_force = await part("policies", () => readInForce(making, as_of_seq));
  const keys = await part("the keys of the log", () => addLog(making, checkpoint, runs, as_of_seq));
  const people = await part("people", () => namesOf(client));
  const verify_page = await readVerifyPage();
  if (verify_page !== null) await zip.add(names.verify_page, verify_page);
  const made_at = new Date().toISOString();
  const described = {
    ...{
      org_id: caller.org_id,
      org_name: caller.org_name,
      from,
      to,
      as_of_seq,
      made_at,
      checkpoint,
      in_force,
      summary,
    },
    ...{ keys: keys.map(({ verifier_key }) => verifier_key), people, has_verify_page: verify_page !== null },
    made_by: `${caller.id ?? "a caller without a key"} (${caller.role})`,
  };
  await zip.add(names.summary, summaryPage(described));
  await zip.add(names.readme, readmeText(described));
  const manifest: Manifest = {
    ...{ format: archive_format, org_id: caller.org_id, from, to, as_of_seq, made_at, decisions },
    files: Object.fromEntries([...zip.sums].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
  await zip.add(names.manifest, `${JSON.stringify(manifest, null, 1)}\n`);
  return { summary, as_of_seq };
}

/** Names the part in the message of a refusal, a missing answer or a wrong one. */
async function part<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await answered(read);
  } catch (error) {
    if (error instanceof CommandFailed) throw new CommandFailed(`${name} could not be read: ${error.message}`);
    throw error;
  }
}

async function addReceipts({ client, zip, caller, period, signal, report }: Making) {
  let checkpoint: string | null = null;
  const lines = linesTo(async (line) => {
    const receipt = objectIn<{ intent_id: string; org_id: string; checkpoint: string }>(line);
    checkpoint ??= receipt.checkpoint;
    if (receipt.org_id !== caller.org_id || !/^int_[0-9A-Za-z]{1,64}$/.test(receipt.intent_id))
      throw new CommandFailed("the service sent something else than a receipt of this organization");
    await zip.add(receiptName(receipt.intent_id), line);
  });
  const on_part = async (bytes: Uint8Array, { rows, done }: ExportProgress) => {
    await lines.push(bytes);
    report(done, `${rows.toLocaleString("en-US")} receipts`);
  };
  const { as_of_seq } = await client.exportReceipts(period, { on_part, signal });
  return { as_of_seq, count: lines.end(), checkpoint: checkpoint as string | null };
}

async function addDecisions({ client, zip, period, signal, report }: Making, as_of_seq: number, taker: SummaryTaker) {
  const file = zip.begin(names.decisions);
  const lines = linesTo((line) => taker.decision(objectIn<ExportedDecision>(line)));
  const on_part = async (bytes: Uint8Array, { rows, done }: ExportProgress) => {
    await file.write(bytes);
    await lines.push(bytes);
    report(done, `${rows.toLocaleString("en-US")} decisions`);
  };
  await client.exportDecisions({ ...period, format: "jsonl", as_of_seq }, { on_part, signal });
  await file.end();
  return lines.end();
}

/** Returns the runs of entries with a record of the period. */
async function addAudit({ client, zip, period, signal, report }: Making, as_of_seq: number, taker: SummaryTaker) {
  const file = zip.begin(names.audit);
  const runs = startRuns();
  const isIn = within(period);
  const lines = linesTo((line) => {
    const record = objectIn<OrgAuditRecord>(line);
    const counts = isIn(record.at);
    if (counts) taker.record(record);
    runs.add(record.entry, counts);
  });
  const on_part = async (bytes: Uint8Array, { rows, done }: ExportProgress) => {
    await file.write(bytes);
    await lines.push(bytes);
    report(done, `${rows.toLocaleString("en-US")} audit records`);
  };
  const query = { ...widened(period), format: "jsonl", as_of_seq } as const;
  await client.exportAudit(query, { on_part, signal });
  lines.end();
  await file.end();
  return runs;
}

function widened({ from, to }: Period): Period {
  const moved = (time: string, by_ms: number) => new Date(Date.parse(time) + by_ms).toISOString();
  return { from: moved(from, -margin_ms), to: moved(to, margin_ms) };
}

/** Adds checkpoint, keys and the proof of the range. Returns the keys. */
async function addLog(
  { client, zip, signal }: Making,
  checkpoint: string,
  runs: Runs,
  as_of_seq: number,
): Promise<LogKey[]> {
  const note = parseNote(checkpoint);
  const head = note === null ? null : parseCheckpoint(note.text);
  if (head === null) throw new CommandFailed("the service sent no signed checkpoint");
  await zip.add(names.checkpoint, checkpoint);
  const [run, another] = runs.counted();
  if (another !== undefined) throw new CommandFailed(gapText(run as Run, another));
  if (run !== undefined)
    await zip.add(names.range, `${JSON.stringify(await readRangeProof(client, run, head.size))}\n`);
  const keys = await client.listLogKeys();
  await zip.add(names.keys, keys.map(({ verifier_key }) => `${verifier_key}\n`).join(""));
  const rotations = await recordsOf(client, "log_key_rotated", as_of_seq, signal);
  await zip.add(names.key_history, `${JSON.stringify({ keys, rotations }, null, 1)}\n`);
  return keys;
}

function gapText(later: Run, earlier: Run): string {
  return `the service sent no audit records of the entries ${earlier.last + 1} to ${later.first - 1} of the log`;
}

async function namesOf(client: Client): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const { people } of pagesOf((place) => client.listPeople({ limit: 200, ...place })))
    for (const { user_id, name, email } of people) found.set(user_id, name ?? email);
  return found;
}
