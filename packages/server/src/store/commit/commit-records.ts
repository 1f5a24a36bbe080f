/**
 * Encodes row sets for `commit_decisions` in PostgreSQL's binary format. Parsing text took a third of the server's time
 * (decision 0012).
 */

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
import type { CountRow, DecisionRows, EscalationRow, EventRow } from "./commit-writer-rows.ts";

export interface EncodedRows {
  readonly row: Buffer;
  readonly escalation: Buffer | null;
  readonly events: readonly Buffer[];
  readonly counts: readonly EncodedCount[];
  readonly keyed: boolean;
  readonly terms: CommitTerms;
  readonly size: number;
}

interface EncodedCount {
  readonly record: Buffer;
  /** Counter and key. */
  readonly place: string;
  readonly last_id: string | null;
  /** The action that adds an entry. Null: the decision only read the key. */
  readonly adds: string | null;
}

/** Assumptions that the call compares with the head. Row sets with equal terms share one call. */
interface CommitTerms {
  readonly key: string;
  readonly org_id: string;
  readonly epochs: Epochs;
  readonly mode: string;
  /** `YYYY-MM`. */
  readonly month: string;
}

type Types = readonly BinaryType[];

/** As in the migrations. The server refuses records with other types. */
const rowTypes: Types = [
  ...[
    "text",
    "text",
    "text",
    "text",
    "text",
    "text",
    "text",
    "text",
    "text",
    "bytea",
    "timestamptz",
    "text",
    "text",
    "bytea",
  ],
  ...["json", "json", "json", "bytea", "bytea", "bytea", "bytea"],
] as Types;
const escalationTypes: Types = ["bigint", "text", "text", "text", "timestamptz", "json", "json"];
const countTypes: Types = [
  ...["bigint", "bigint", "text", "bytea", "text", "text", "text", "text", "timestamptz", "bigint", "text", "json"],
  "timestamptz",
] as Types;
const eventTypes: Types = ["bigint", "text", "text", "text", "text", "text", "timestamptz", "json"];

const place_to_come = 0;

/** Throws TypeError for an invalid time or hash. */
export function encode(rows: DecisionRows): EncodedRows {
  const { entry, epochs, idempotency: once, escalation: review } = rows;
  const terms = termsOf(rows.org_id, epochs, entry.mode, entry.at.slice(0, 7));
  const row = record(rowTypes, [
    entry.intent_id,
    entry.decision_id,
    entry.membrane_id,
    entry.agent_id,
    entry.actor,
    entry.lineage_id,
    entry.verdict,
    entry.escalation_id,
    entry.override_id,
    entry.fingerprint,
    entry.at,
    once?.operation ?? null,
    once?.idempotency_key ?? null,
    once?.request_sha256 ?? null,
    entry.intent,
    entry.facts,
    entry.decision,
    entry.salts.intent,
    entry.salts.facts,
    entry.salts.data,
    entry.hash,
  ]);
  const escalation = review === null ? null : escalationRecord(review);
  const events = rows.events.map(eventRecord);
  let size = row.length + (escalation?.length ?? 0);
  const counts = rows.counts.map((each) => encodedCount(entry, each));
  for (const each of events) size += each.length;
  for (const each of counts) size += each.record.length;
  const keyed = once !== null || entry.override_id !== null;
  return { row, escalation, events, counts, keyed, terms, size };
}

function termsOf(org_id: string, epochs: Epochs, mode: string, month: string): CommitTerms {
  const key = `${org_id} ${epochs.auth} ${epochs.policy} ${epochs.context} ${mode} ${month}`;
  return { key, org_id, epochs, mode, month };
}

function escalationRecord(row: EscalationRow): Buffer {
  const { escalation_id, mode, status, expires_at } = row;
  return record(escalationTypes, [place_to_come, escalation_id, mode, status, expires_at, row.record, row.demands]);
}

function encodedCount(decision: DecisionRows["entry"], count: CountRow): EncodedCount {
  const { name, key, key_sha, last_id, entry } = count;
  const head = [place_to_come, place_to_come, name, key_sha, key, last_id];
  const place = `${name} ${key_sha}`;
  if (entry === null) {
    const record_ = record(countTypes, [...head, null, null, null, null, null, null, null]);
    return { record: record_, place, last_id, adds: null };
  }
  const { intent_id, agent_id, at, verdict } = decision;
  const state = verdict === "escalate" ? "pending" : verdict;
  const tail = [intent_id, agent_id, at, entry.micros, state, entry.vals, entry.ends_at];
  return { record: record(countTypes, [...head, ...tail]), place, last_id, adds: intent_id };
}

function eventRecord(row: EventRow): Buffer {
  const { event_id, event_type, intent_id, decision_id, escalation_id, created_at, body } = row;
  const values = [place_to_come, event_id, event_type, intent_id, decision_id, escalation_id, created_at, body];
  return record(eventTypes, values);
}

/** Size of a slab for records. A slab is freed when all its records are sent. */
const slab_bytes = 1 << 18;
let slab: Buffer = Buffer.alloc(0);
let slab_used = 0;

/** Writes a record in the format of `record_send`: number of fields, then type, length and value of each. */
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

/** Row sets of a batch with equal terms. */
export interface CommitCall {
  readonly terms: CommitTerms;
  readonly places: readonly number[];
  readonly rows: readonly Buffer[];
  readonly escalations: readonly Buffer[];
  readonly events: readonly Buffer[];
  readonly counts: readonly Buffer[];
  readonly keyed: boolean;
  /** True: the call first looks for intents that an earlier attempt committed. */
  readonly again: boolean;
}

export function callsOf(batch: readonly EncodedRows[], again: boolean): CommitCall[] {
  const places = new Map<string, number[]>();
  batch.forEach(({ terms }, place) => {
    const known = places.get(terms.key);
    if (known === undefined) places.set(terms.key, [place]);
    else known.push(place);
  });
  return [...places.values()].map((each) => callOf(batch, each, again));
}

function callOf(batch: readonly EncodedRows[], places: readonly number[], again: boolean): CommitCall {
  const rows: Buffer[] = [];
  const escalations: Buffer[] = [];
  const events: Buffer[] = [];
  const counts: Buffer[] = [];
  const adders = new Map<string, Adder>();
  let keyed = false;
  for (const place of places) {
    const each = batch[place] as EncodedRows;
    const line = rows.push(each.row);
    for (const record of each.events) events.push(placed(record, line));
    for (const count of each.counts) counts.push(follows(placed(count.record, line), count, line, adders));
    if (each.escalation !== null) escalations.push(placed(each.escalation, line));
    keyed ||= each.keyed;
  }
  const { terms } = batch[places[0] as number] as EncodedRows;
  return { terms, places, rows, escalations, events, counts, keyed, again };
}

/** Where the first two fields of a record have their values, if they are integers. */
const first_value_at = 16;
const second_value_at = 32;

/** Writes the row set's position (from 1) into the first field. */
function placed(record: Buffer, place: number): Buffer {
  writeInt64(record, place, first_value_at);
  return record;
}

/** A decision of the same call that added to a key last. */
interface Adder {
  readonly line: number;
  readonly intent_id: string;
}

/** Writes into the second field which decision of the call the row follows: 0: none, -1: one that it has not read. */
function follows(
  record: Buffer,
  { place, last_id, adds }: EncodedCount,
  line: number,
  adders: Map<string, Adder>,
): Buffer {
  const adder = adders.get(place);
  const is_read = adder !== undefined && adder.intent_id === last_id;
  writeInt64(record, adder === undefined ? 0 : is_read ? adder.line : -1, second_value_at);
  if (adds !== null) adders.set(place, { line, intent_id: adds });
  return record;
}

const recordTypes = ["decision_row", "commit_review", "commit_event", "commit_count"] as const;

/** OIDs of the record types in one database. */
export type RecordTypes = Readonly<Record<(typeof recordTypes)[number], number>>;

export const record_types_query = `select ${recordTypes.map((name) => `'${name}'::regtype::oid as ${name}`).join(", ")}`;

export function parametersOf(call: CommitCall, types: RecordTypes): readonly unknown[] {
  const { org_id, epochs, mode, month } = call.terms;
  return [
    org_id,
    epochs.auth,
    epochs.policy,
    epochs.context,
    mode,
    month,
    array(call.rows, types.decision_row),
    array(call.escalations, types.commit_review),
    array(call.events, types.commit_event),
    array(call.counts, types.commit_count),
    call.keyed,
    call.again,
  ];
}

function array(records: readonly Buffer[], type: number): Buffer {
  return Buffer.concat([arrayHead(type, records.length, false), ...records]);
}
