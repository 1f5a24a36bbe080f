/**
 * The bytes that carry row sets to the commit statement: an array a parameter, of the composite types of migration 0019, in
 * PostgreSQL's binary format (what `array_recv` and `record_recv` read). With text a third of the server's work was to cut,
 * to unescape and to read it (decision 0012).
 */

import type { AuditRow } from "../audit/audit.ts";
import type { Epochs } from "../organizations/epochs.ts";
import {
  arrayHead,
  type BinaryType,
  type BinaryValue,
  bytesAtMost,
  typeOids,
  writeInt64,
  writeValue,
} from "../rows/binary.ts";
import type { DecisionRows, EscalationRow, EventRow } from "./commit-writer-rows.ts";

/** A row set as the statement takes it: records, each with its length before it. */
export interface EncodedRows {
  readonly row: Buffer;
  readonly audit: readonly Buffer[];
  readonly escalation: Buffer | null;
  readonly events: readonly Buffer[];
  /** A decision and its audit rows, nothing else. */
  readonly plain: boolean;
  readonly terms: CommitTerms;
  /** Bytes of it all. */
  readonly size: number;
}

/** What a head is asked about a row set: the answer is one for all row sets that have the same terms. */
interface CommitTerms {
  readonly org_id: string;
  readonly epochs: Epochs;
  readonly mode: string;
  /** `YYYY-MM`, the month that a live decision counts in. */
  readonly month: string;
}

type Types = readonly BinaryType[];

/** As migration 0019 has them; the server refuses records of another make. */
const rowTypes: Types = [
  ...["text", "bigint", "bigint", "bigint", "text", "text", "text", "text", "text", "text", "text", "text"],
  ...["text", "text", "bytea", "timestamptz", "text", "text", "text", "bytea", "text", "json", "json", "json"],
] as Types;
const auditTypes: Types = ["bigint", "text", "text", "text", "timestamptz", "bytea", "json"];
const escalationTypes: Types = ["bigint", "text", "text", "text", "timestamptz", "json", "json"];
const eventTypes: Types = ["bigint", "text", "text", "text", "text", "text", "timestamptz", "json"];

/** Which row set of its batch a record belongs to is known when the batch is put together; see `placed`. */
const place_to_come = 0;

/** Writes a row set down. Throws TypeError on what no statement could take: a time or a hash that is none, no audit row. */
export function encode(rows: DecisionRows): EncodedRows {
  const { intent, epochs, idempotency: once, escalation: review } = rows;
  const terms = { org_id: rows.org_id, epochs, mode: intent.mode, month: intent.created_at.slice(0, 7) };
  if (rows.audit.length === 0) throw new TypeError(`${intent.intent_id} comes without an audit row`);
  const row = record(rowTypes, [
    rows.org_id,
    epochs.auth,
    epochs.policy,
    epochs.context,
    intent.intent_id,
    intent.decision_id,
    intent.membrane_id,
    intent.agent_id,
    intent.key_id,
    intent.lineage_id,
    intent.mode,
    intent.verdict,
    intent.status,
    intent.escalation_id,
    intent.fingerprint,
    intent.created_at,
    terms.month,
    once?.operation ?? null,
    once?.idempotency_key ?? null,
    once?.request_sha256 ?? null,
    rows.override_id,
    intent.intent,
    intent.facts,
    intent.decision,
  ]);
  const audit = rows.audit.map((each) => auditRecord(each, intent.intent_id));
  const escalation = review === null ? null : escalationRecord(review);
  const events = rows.events.map(eventRecord);
  let size = row.length + (escalation?.length ?? 0);
  for (const each of audit) size += each.length;
  for (const each of events) size += each.length;
  const plain = once === null && rows.override_id === null && escalation === null && events.length === 0;
  return { row, audit, escalation, events, plain, terms, size };
}

function auditRecord(row: AuditRow, intent_id: string): Buffer {
  if (row.intent_id !== intent_id) throw new TypeError(`${row.audit_id} is not about ${intent_id}`);
  return record(auditTypes, [place_to_come, row.audit_id, row.type, row.actor, row.at, row.hash, row.data]);
}

function escalationRecord(row: EscalationRow): Buffer {
  const { escalation_id, mode, status, expires_at } = row;
  return record(escalationTypes, [place_to_come, escalation_id, mode, status, expires_at, row.record, row.demands]);
}

function eventRecord(row: EventRow): Buffer {
  const { event_id, event_type, intent_id, decision_id, escalation_id, created_at, body } = row;
  const values = [place_to_come, event_id, event_type, intent_id, decision_id, escalation_id, created_at, body];
  return record(eventTypes, values);
}

/** Records are written one behind the other; a slab lives for as long as one of its records waits to be sent. */
const slab_bytes = 1 << 18;
let slab: Buffer = Buffer.alloc(0);
let slab_used = 0;

/** `record_send`: how many fields, then each one's type, length and value. */
function record(types: Types, values: readonly BinaryValue[]): Buffer {
  let bytes_max = 8;
  for (const value of values) bytes_max += 4 + bytesAtMost(value);
  if (slab.length - slab_used < bytes_max) {
    slab = Buffer.allocUnsafeSlow(Math.max(slab_bytes, bytes_max));
    slab_used = 0;
  }
  const start = slab_used;
  let at = slab.writeInt32BE(types.length, start + 4);
  for (let index = 0; index < types.length; index++) {
    const type = types[index] as BinaryType;
    at = writeValue(slab, type, values[index] as BinaryValue, slab.writeInt32BE(typeOids[type], at));
  }
  slab.writeInt32BE(at - start - 4, start);
  slab_used = at;
  return slab.subarray(start, at);
}

/** Which of the statements is to run, and the records for its parameters. */
export interface CommitOrder {
  readonly statement: "full" | "plain" | "uniform";
  readonly rows: readonly Buffer[];
  readonly audit: readonly Buffer[];
  readonly escalations: readonly Buffer[];
  readonly events: readonly Buffer[];
  /** Of the first row set; with the statement `uniform`, of all. */
  readonly terms: CommitTerms;
  /** Whether to look for intents that an earlier, lost attempt may have committed. */
  readonly again: boolean;
}

/** The order for a batch of at least one row set. */
export function orderOf(batch: readonly EncodedRows[], again: boolean): CommitOrder {
  const rows: Buffer[] = [];
  const audit: Buffer[] = [];
  const escalations: Buffer[] = [];
  const events: Buffer[] = [];
  batch.forEach((each, index) => {
    rows.push(each.row);
    for (const record of each.audit) audit.push(placed(record, index + 1));
    for (const record of each.events) events.push(placed(record, index + 1));
    if (each.escalation !== null) escalations.push(placed(each.escalation, index + 1));
  });
  const { terms } = batch[0] as EncodedRows;
  const plain = !again && batch.every((each) => each.plain);
  const statement = !plain ? "full" : batch.every((each) => sameTerms(each.terms, terms)) ? "uniform" : "plain";
  return { statement, rows, audit, escalations, events, terms, again };
}

function sameTerms(a: CommitTerms, b: CommitTerms): boolean {
  return (
    a.org_id === b.org_id &&
    a.epochs.auth === b.epochs.auth &&
    a.epochs.policy === b.epochs.policy &&
    a.epochs.context === b.epochs.context &&
    a.mode === b.mode &&
    a.month === b.month
  );
}

/** Writes the place of its row set in the batch, from 1, into a record's first field: behind length, count, type and length. */
function placed(record: Buffer, place: number): Buffer {
  writeInt64(record, place, 16);
  return record;
}

/** The types of the records, in the order of the parameters. */
const recordTypes = ["commit_row", "commit_audit", "commit_review", "commit_event"] as const;

/** What a database calls each of these types: numbers of its `pg_type`. */
export type RecordTypes = Readonly<Record<(typeof recordTypes)[number], number>>;

/** Asks a database for its `RecordTypes`. */
export const record_types_query = `select ${recordTypes.map((name) => `'${name}'::regtype::oid as ${name}`).join(", ")}`;

/** The parameters of the statement that an order names. */
export function parametersOf(order: CommitOrder, types: RecordTypes): readonly unknown[] {
  const plain = [array(order.rows, types.commit_row), array(order.audit, types.commit_audit)];
  if (order.statement === "plain") return plain;
  const { escalations, events, terms, again } = order;
  if (order.statement === "uniform") {
    const { org_id, epochs, mode, month } = terms;
    return [...plain, org_id, epochs.auth, epochs.policy, epochs.context, mode, month];
  }
  return [...plain, array(escalations, types.commit_review), array(events, types.commit_event), again];
}

function array(records: readonly Buffer[], type: number): Buffer {
  return Buffer.concat([arrayHead(type, records.length, false), ...records]);
}

/** SQL for the row sets of parameter 1; `line_number` is their place in the batch, from 1. */
export const row_records = "select r.*, r.ordinality as line_number from unnest($1::commit_row[]) with ordinality as r";
/** SQL for the audit rows of parameter 2; `n` is the place of the row set they belong to. */
export const audit_records =
  "select r.*, r.ordinality as line_number from unnest($2::commit_audit[]) with ordinality as r";
/** SQL for the escalations of parameter 3. */
export const escalation_records = "select * from unnest($3::commit_review[])";
/** SQL for the events of parameter 4. */
export const event_records = "select * from unnest($4::commit_event[])";
