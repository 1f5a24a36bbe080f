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
  await raiseKey(query, org_id, place, requested, ends_at);
}

/** Deletes the entries of a key, except actions that wait for people. */
export async function resetKey(query: Query, org_id: string, place: CounterPlace, at: string): Promise<void> {
  const { mode, name, key } = place;
  await raiseKey(query, org_id, place, null, at);
  await query(
    `delete from counter_entries
     where org_id = $1 and mode = $2 and name = $3 and key_sha = decode($4, 'hex') and state <> 'pending'`,
    [org_id, mode, name, keySha(key)],
  );
}

export interface GrantEntry {
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
export async function grantMore(query: Query, org_id: string, place: CounterPlace, grant: GrantEntry): Promise<void> {
  const { mode, name, key } = place;
  const { audit_id, micros, actions, at, ends_at } = grant;
  await raiseKey(query, org_id, place, null, ends_at);
  await query(
    `insert into counter_entries (org_id, mode, name, key_sha, at, intent_id, micros, actions, state, ends_at)
     values ($1, $2, $3, decode($4, 'hex'), $5::timestamptz, $6, $7::bigint, $8::bigint, 'granted', $9::timestamptz)`,
    [org_id, mode, name, keySha(key), at, audit_id, micros, actions, ends_at],
  );
}

/** Raises the version of a key, so that every node reads it again. Begins the key if it does not exist. */
async function raiseKey(
  query: Query,
  org_id: string,
  { mode, name, key }: CounterPlace,
  requested: CounterRequest | null,
  ends_at: string,
): Promise<void> {
  await query(
    `with newest as (select counter_floor from org_heads where org_id = $1 order by audit_seq desc limit 1),
     raised as (
       insert into counters as k (org_id, mode, name, key_sha, key, version, requested, ends_at)
       select $1, $2, $3, decode($4, 'hex'), $5, counter_floor + 1, $6::json, $7::timestamptz from newest
       on conflict (org_id, mode, name, key_sha) do update
         set version = k.version + 1, requested = excluded.requested, ends_at = greatest(k.ends_at, excluded.ends_at)
       returning xmax = 0 as is_new)
     update org_heads h set counter_keys = counter_keys + 1
     where h.org_id = $1 and h.audit_seq = (select max(audit_seq) from org_heads where org_id = $1)
       and (select is_new from raised)`,
    [org_id, mode, name, keySha(key), key, requested === null ? null : JSON.stringify(requested), ends_at],
  );
}
