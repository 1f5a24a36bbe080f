/** Turns entries of the ledger into the lines of an object. */
import { type OrgAuditRecord, type StreamFormat, unnamed_agent_id } from "@countersign/contract";
import { type ExportedDecision, exportedDecision, ocsfEvent } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type ListedIntent, readListed } from "../../store/intents/intents.ts";
import { readEntryPage, type StreamedRecord } from "../../store/streams/stream-entries.ts";
import { aboutOf, isWhole } from "../audit/read-trail.ts";
import { intentRecord } from "../intents/read-intents.ts";
import { wordedFor } from "../intents/readers.ts";
import { shownActor } from "../shared/caller.ts";

/** More would block the thread for longer than a decision takes. */
const page_entries = 100;

interface EntryLines {
  /** ledger.seq */
  readonly seq: number;
  /** With line ends. */
  readonly text: string;
}

export interface LinePage {
  readonly entries: readonly EntryLines[];
  readonly more: boolean;
}

/** Reads the lines of a page of entries after `after` up to `to`, in order. */
export async function readLines(
  query: Query,
  org_id: string,
  format: StreamFormat,
  range: { readonly after: number; readonly to: number; readonly hour: string | null },
): Promise<LinePage> {
  const { records, more } = await readEntryPage(query, org_id, { ...range, limit: page_entries });
  const intents = await readIntents(query, org_id, records);
  const entries: EntryLines[] = [];
  for (const own of byEntry(records)) {
    const [first] = own;
    if (first === undefined) continue;
    const intent = intents.get(first.intent_id ?? "");
    const lines = format === "jsonl" ? jsonLines(own, intent) : [ocsfLine(org_id, own, intent)];
    entries.push({ seq: first.entry_seq, text: lines.map((line) => `${JSON.stringify(line)}\n`).join("") });
  }
  return { entries, more };
}

function byEntry(records: readonly StreamedRecord[]): Iterable<StreamedRecord[]> {
  const entries = new Map<number, StreamedRecord[]>();
  for (const record of records) entries.set(record.entry_seq, [...(entries.get(record.entry_seq) ?? []), record]);
  return entries.values();
}

/** Returns the intents of all records. A changed intent must not stop the stream, so it is left out. */
async function readIntents(
  query: Query,
  org_id: string,
  records: readonly StreamedRecord[],
): Promise<ReadonlyMap<string, ListedIntent>> {
  const left = new Set(records.flatMap(({ intent_id }) => (intent_id === null ? [] : [intent_id])));
  const intents = new Map<string, ListedIntent>();
  while (left.size > 0) {
    const { rows, more } = await readListed(query, org_id, [...left]);
    for (const row of rows) {
      left.delete(row.intent_id);
      if (isWhole(row)) intents.set(row.intent_id, row);
    }
    if (!more) break;
  }
  return intents;
}

/** The record as the list of the audit trail shows it. That of a decision also has the intent and the decision. */
function jsonLines(records: readonly StreamedRecord[], intent: ListedIntent | undefined): object[] {
  return records.map((stored) => {
    const record = shown(stored, intent);
    return stored.type === "decided" && intent !== undefined ? { ...record, ...decidedAs(intent) } : record;
  });
}

function shown({ entry_seq: _, ...stored }: StreamedRecord, intent: ListedIntent | undefined): OrgAuditRecord {
  const about = intent === undefined ? {} : { about: aboutOf(intent) };
  return { ...stored, actor: shownActor(stored.actor), ...about };
}

/** People read streams. Later changes of a decision have records of their own, so its line shows the first answer. */
const reader = { role: "auditor", scope: "org" } as const;

function decidedAs(row: ListedIntent): ExportedDecision {
  const erased = row.erased === null ? {} : { erased: row.erased };
  const decision = wordedFor(reader, { ...row.decision, ...erased }, row.intent.other_wording);
  return exportedDecision(row, intentRecord(row), decision);
}

/** One event for each entry: the record of a decision has its intent, other records say what changed. */
function ocsfLine(org_id: string, records: readonly StreamedRecord[], intent: ListedIntent | undefined): object {
  const decided = records.find(({ type }) => type === "decided");
  const last = records.at(-1);
  const stored = decided ?? last;
  if (stored === undefined || last === undefined) throw new Error("an entry has no record");
  const record = { ...shown(stored, intent), seq: last.seq };
  const exported = decided === undefined || intent === undefined ? null : decidedAs(intent);
  return ocsfEvent(record, exported, { org_id, unnamed_agent_id });
}
