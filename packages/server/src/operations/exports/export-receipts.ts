/** Makes the receipts of a period, all under one checkpoint (decision 0068). */
import type { ReceiptExportQuery } from "@countersign/contract";
import { canonicalJson, Fault } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type IntentFilter, type ListedIntent, listIntents } from "../../store/intents/intents.ts";
import {
  inclusionProofs,
  lastEntryBefore,
  type ReceiptRow,
  readReceiptRowsOf,
  readRegistrations,
  seqOfEntry,
} from "../../store/log/read-receipt-entries.ts";
import { ownFilter } from "../intents/read-intents.ts";
import {
  headOver,
  look_every_ms,
  looks_max,
  passkeysOf,
  type ReceiptContent,
  type ReceiptHead,
  receiptFrom,
  signedVotes,
  withheldFrom,
} from "../log/receipt-parts.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { type ExportedFile, exportParts, oldestUs, pagesUpTo } from "./export-file.ts";
import { textLines } from "./text-lines.ts";

type Exporting = Pick<Runtime, "callers" | "db" | "timers"> & {
  readonly settings: Pick<Runtime["settings"], "log_witnesses">;
};

/** Decisions of one page. A receipt takes about eight times the processor time of an exported decision. */
const page_rows = 20;

/**
 * Exports the receipts of the decisions of a period, as lines of canonical JSON, under one checkpoint over the entries up to
 * `as_of_seq`. Documents with values that a rule hides from people are left out. Faults: receipt_not_ready, and those of
 * `ownFilter`. Parts reject with a 401 fault after the caller's key or session ended.
 */
export async function exportReceipts(
  runtime: Exporting,
  caller: Caller,
  period: ReceiptExportQuery,
): Promise<ExportedFile> {
  const { org_id } = caller;
  const own = ownFilter(caller, period);
  const { head, seq } = await headFor(runtime, org_id, own.to);
  const drafts = pagesUpTo(runtime, caller, seq, (query, before: string | null) =>
    readDrafts(query, caller, { ...own, seq }, before),
  );
  const source = { timeOf: ({ at }: Line) => at, pages: receiptsOf(runtime, org_id, head, drafts) };
  const parts = exportParts(source, textLines, oldestUs(org_id, own.from), seq);
  return { format: "jsonl", name: "receipts", as_of_seq: seq, parts };
}

interface Line {
  readonly at: string;
  readonly text: string;
}

/** A receipt without its proofs. */
interface Draft {
  readonly at: string;
  readonly content: ReceiptContent;
}

/**
 * Returns the checkpoint for all receipts, and the seq of its last entry. It covers the period, or everything if the
 * period has no end yet. Waits up to 3 s for it. Faults: receipt_not_ready.
 */
async function headFor(
  { db, timers, settings }: Exporting,
  org_id: string,
  to = "9999-01-01T00:00:00Z",
): Promise<{ readonly head: ReceiptHead; readonly seq: number }> {
  const last = await db.tenant(org_id, (query) => lastEntryBefore(query, org_id, to));
  for (let look = 0; ; look += 1) {
    const found = await db.tenant(org_id, async (query) => {
      const head = await headOver(query, org_id, last ?? 0, settings.log_witnesses);
      return head === null ? null : { head, seq: await seqOfEntry(query, org_id, head.size - 1) };
    });
    if (found !== null) return found;
    if (look === looks_max) throw new Fault("receipt_not_ready");
    await new Promise<void>((resolve) => void timers.after(look_every_ms, resolve));
  }
}

async function readDrafts(
  query: Query,
  caller: Caller,
  filter: IntentFilter & { readonly seq: number },
  before: string | null,
) {
  const { org_id } = caller;
  const { rows, more } = await listIntents(query, org_id, filter, before, page_rows);
  const ids = rows.map(({ intent_id }) => intent_id);
  const entries = await readReceiptRowsOf(query, org_id, ids, filter.seq);
  const registrations = await readRegistrations(query, org_id, [...entries.values()].flatMap(signedVotes));
  const next = more || rows.length === page_rows ? (ids.at(-1) ?? null) : null;
  return { rows: rows.map((row) => draftOf(caller, row, entries.get(row.intent_id) ?? [], registrations)), next };
}

function draftOf(
  caller: Caller,
  row: ListedIntent,
  rows: readonly ReceiptRow[],
  registrations: ReadonlyMap<number, ReceiptRow>,
): Draft {
  const [decision] = rows;
  if (decision?.type !== "decided") throw new Error(`the ledger has no decision on ${row.intent_id}`);
  const passkeys = passkeysOf(rows, registrations);
  return { at: row.created_at, content: { rows, passkeys, withheld: withheldFrom(caller, row, decision) } };
}

/** Reads proofs on the primary, because a replica may have the entries and not yet the checkpoint over them. */
async function* receiptsOf(
  { db }: Pick<Runtime, "db">,
  org_id: string,
  head: ReceiptHead,
  pages: AsyncIterable<readonly Draft[]>,
): AsyncGenerator<readonly Line[]> {
  for await (const page of pages) {
    const indexes = page.flatMap(({ content }) => indexesOf(content));
    if (indexes.length === 0) continue;
    const proofs = await db.tenant(org_id, (query) => inclusionProofs(query, org_id, indexes, head.size));
    let used = 0;
    yield page.map(({ at, content }) => {
      const from = used;
      used += indexesOf(content).length;
      return { at, text: canonicalJson(receiptFrom(org_id, head, content, proofs.slice(from, used))) };
    });
  }
}

function indexesOf({ rows, passkeys }: ReceiptContent): number[] {
  return [...rows, ...passkeys].map(({ entry }) => entry);
}
