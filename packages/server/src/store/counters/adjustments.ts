/** SQL for adjustments of counters. The caller holds the lock of the organization's head. */
import type { CounterRequest, PipelineMode } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { keySha } from "./counters.ts";
import { type ListedKey, listed_columns } from "./list-counters.ts";

/** One key of one counter. */
export interface CounterPlace {
  readonly mode: PipelineMode;
  /** `count.<name>`. */
  readonly name: string;
  /** Canonical JSON. */
  readonly key: string;
}

/** Undefined: the key has no entries and no request. */
export async function readCounterKey(
  query: Query,
  org_id: string,
  { mode, name, key }: CounterPlace,
): Promise<ListedKey | undefined> {
  const [row] = await query<ListedKey>(
    `select ${listed_columns} from counters k
     where k.org_id = $1 and k.mode = $2 and k.name = $3 and k.key_sha = decode($4, 'hex')`,
    [org_id, mode, name, keySha(key)],
  );
  return row;
}

/** Stores an adjustment that waits for a second person, in place of an earlier one. `ends_at`: RFC 3339. */
export async function requestAdjustment(
  query: Query,
  org_id: string,
  place: CounterPlace,
  requested: CounterRequest,
  ends_at: string,
): Promise<void> {
  await keepKey(query, org_id, place, requested, ends_at);
}

/** Deletes the entries of a key, except actions that wait for people. `reset` stays as the newest entry, and counts nothing. */
export async function resetKey(
  query: Query,
  org_id: string,
  place: CounterPlace,
  reset: AdjustmentEntry,
): Promise<void> {
  const { mode, name, key } = place;
  await keepKey(query, org_id, place, null, reset.ends_at);
  await query(
    `delete from counter_entries
     where org_id = $1 and mode = $2 and name = $3 and key_sha = decode($4, 'hex') and state <> 'pending'`,
    [org_id, mode, name, keySha(key)],
  );
  await addEntry(query, org_id, place, "released", reset);
}

export interface AdjustmentEntry {
  readonly audit_id: string;
  /** Below zero, or 0; in millionths. */
  readonly micros: number;
  /** Below zero, or 0. */
  readonly actions: number;
  /** RFC 3339. `ends_at`: when it leaves the window. */
  readonly at: string;
  readonly ends_at: string;
}

/** Begins the key if it does not exist. */
export async function grantMore(
  query: Query,
  org_id: string,
  place: CounterPlace,
  grant: AdjustmentEntry,
): Promise<void> {
  await keepKey(query, org_id, place, null, grant.ends_at);
  await addEntry(query, org_id, place, "granted", grant);
}

async function addEntry(
  query: Query,
  org_id: string,
  { mode, name, key }: CounterPlace,
  state: "granted" | "released",
  { audit_id, micros, actions, at, ends_at }: AdjustmentEntry,
): Promise<void> {
  await query(
    `with numbered as (
       update org_heads h set counter_changes = counter_changes + 1
       where h.org_id = $1 and h.audit_seq = (select max(audit_seq) from org_heads where org_id = $1)
       returning counter_changes)
     insert into counter_entries (org_id, mode, name, key_sha, seq, at, intent_id, micros, actions, state, ends_at)
     select $1, $2, $3, decode($4, 'hex'), counter_changes, $5::timestamptz, $6, $7::bigint, $8::bigint, $9, $10::timestamptz
     from numbered`,
    [org_id, mode, name, keySha(key), at, audit_id, micros, actions, state, ends_at],
  );
}

/** Begins the key if it does not exist. */
async function keepKey(
  query: Query,
  org_id: string,
  { mode, name, key }: CounterPlace,
  requested: CounterRequest | null,
  ends_at: string,
): Promise<void> {
  await query(
    `with kept as (
       insert into counters as k (org_id, mode, name, key_sha, key, requested, ends_at)
       values ($1, $2, $3, decode($4, 'hex'), $5, $6::json, $7::timestamptz)
       on conflict (org_id, mode, name, key_sha) do update
         set requested = excluded.requested, ends_at = greatest(k.ends_at, excluded.ends_at)
       returning xmax = 0 as is_new)
     update org_heads h set counter_keys = counter_keys + 1
     where h.org_id = $1 and h.audit_seq = (select max(audit_seq) from org_heads where org_id = $1)
       and (select is_new from kept)`,
    [org_id, mode, name, keySha(key), key, requested === null ? null : JSON.stringify(requested), ends_at],
  );
}
