/** SQL for counters of policies. Every change holds the lock of the organization's head (decision 0047). */
import { limits } from "@countersign/contract";
import {
  type CountedAction,
  type CounterEntry,
  type EntryState,
  formatTimestampUs,
  sha256Hex,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { microseconds } from "../rows/microseconds.ts";

/** A key to read, and the earliest time of an entry that counts. */
export interface WantedCounter {
  readonly name: string;
  readonly key: string;
  readonly since_us: number;
}

export interface StoredCounter {
  /** Names the newest entry, as `stale_counts` does. Null: the key has none. */
  readonly last_id: string | null;
  readonly entries: readonly CounterEntry[];
  /** The key does not exist, and the organization has as many keys as it may. Or the key has too many entries to be read. */
  readonly full: boolean;
}

/** Returns the first 16 bytes of the hash of a key, in hex. */
export function keySha(key: string): string {
  return sha256Hex(key).slice(0, 32);
}

/** Names the newest entry of a key. */
export const newest_entry =
  "select case when c.changed then c.seq::text else c.intent_id end as name from counter_entries c";

interface Row {
  readonly place: number;
  readonly last_id: string | null;
  readonly is_new: boolean;
  readonly counter_keys: number;
  readonly intent_id: string | null;
  readonly at_us: number;
  readonly micros: number | null;
  readonly actions: number | null;
  readonly state: EntryState;
  readonly vals: Readonly<Record<string, string>> | null;
}

/** Reads keys with their entries in one snapshot, in the order of `wanted`. `except`: intents whose entries are left out. */
export async function readCounters(
  query: Query,
  org_id: string,
  mode: string,
  wanted: readonly WantedCounter[],
  except: readonly string[] = [],
): Promise<StoredCounter[]> {
  const { counter_keys_max, counter_actions_per_key_max: entries_max } = limits;
  const rows = await query<Row>(
    `select w.place, n.name as last_id, k.found is null as is_new, h.counter_keys, e.intent_id, ${microseconds("e.at")} as at_us, e.micros, e.actions, e.state, e.vals
     from unnest($3::text[], $4::bytea[], $5::timestamptz[]) with ordinality w (name, key_sha, since, place)
     cross join lateral (select counter_keys from org_heads where org_id = $1 order by audit_seq desc limit 1) h
     left join lateral (
       select true as found from counters c
       where c.org_id = $1 and c.mode = $2 and c.name = w.name and c.key_sha = w.key_sha limit 1) k on true
     left join lateral (${newest_entry}
       where c.org_id = $1 and c.mode = $2 and c.name = w.name and c.key_sha = w.key_sha order by c.seq desc limit 1) n on true
     left join lateral (
       select * from counter_entries c where c.org_id = $1 and c.mode = $2 and c.name = w.name and c.key_sha = w.key_sha
         and c.at >= w.since and c.state <> 'released' and c.intent_id <> all ($6::text[])
       order by c.seq desc limit ${entries_max + 1}) e on true
     order by w.place, e.at`,
    [
      org_id,
      mode,
      wanted.map(({ name }) => name),
      wanted.map(({ key }) => Buffer.from(keySha(key), "hex")),
      wanted.map(({ since_us }) => formatTimestampUs(Math.max(0, since_us))),
      except,
    ],
  );
  const byPlace = new Map<number, Row[]>();
  for (const row of rows) {
    const place = Number(row.place);
    const own = byPlace.get(place);
    if (own === undefined) byPlace.set(place, [row]);
    else own.push(row);
  }
  return wanted.map((_, at) => {
    const own = byPlace.get(at + 1) ?? [];
    const [first] = own;
    if (first === undefined) throw new Error("a counter was not read");
    const entries = own.flatMap(({ intent_id, at_us, micros, actions, state, vals }) =>
      intent_id === null
        ? []
        : [
            {
              intent_id,
              at_us: Number(at_us),
              micros: micros === null ? null : Number(micros),
              ...(actions === null ? {} : { actions: Number(actions) }),
              state,
              values: vals ?? {},
            },
          ],
    );
    const has_no_room = first.is_new && Number(first.counter_keys) >= counter_keys_max;
    return { last_id: first.last_id, entries, full: has_no_room || entries.length > entries_max };
  });
}

/** Actions with entries that a change moved, released or replaced, for the entry of the change in the ledger. */
export type CountsOf = readonly string[];

/**
 * Changes what became of a counted action. `failed` and `executed` are trusted reports about an approved action. `at`: RFC 3339; null: its
 * entries keep their times. A null state releases it.
 */
export async function changeCounted(
  query: Query,
  org_id: string,
  intent_id: string,
  state: EntryState | "executed" | null,
  at: string | null,
): Promise<CountsOf> {
  const [row] = await query<{ changes: number }>("select change_counted($1, $2, $3, $4::timestamptz, $2) as changes", [
    org_id,
    intent_id,
    state,
    at,
  ]);
  return row === undefined || row.changes === 0 ? [] : [intent_id];
}

/**
 * Gives the entries of the action that holds the approval of a review to the action that uses the approval. It counts, also if the first
 * action was reported as skipped. Call it before the approval gets its new holder.
 */
export async function moveCounted(query: Query, org_id: string, escalation_id: string, to: string): Promise<CountsOf> {
  const [moved] = await query<{ from: string; changes: number }>(
    `select coalesce(e.approval_holder, e.intent_id) as from,
       change_counted($1, coalesce(e.approval_holder, e.intent_id), 'executed', null, $3) as changes from escalations e
     where e.org_id = $1 and e.escalation_id = $2 and coalesce(e.approval_holder, e.intent_id) <> $3`,
    [org_id, escalation_id, to],
  );
  return moved === undefined || moved.changes === 0 ? [] : [moved.from, to];
}

/** Replaces the entries of an action. */
export async function replaceCounted(
  query: Query,
  org_id: string,
  action: { readonly intent_id: string; readonly agent_id: string; readonly mode: string },
  state: EntryState,
  at: string,
  counts: readonly CountedAction[],
): Promise<CountsOf> {
  const { intent_id, agent_id, mode } = action;
  const released = await changeCounted(query, org_id, intent_id, null, null);
  if (counts.length === 0) return released;
  const given = JSON.stringify(
    counts.map(({ name, key, micros, values, ends_us }) => {
      return { name, key, key_sha: keySha(key), micros, vals: values, ends_at: formatTimestampUs(ends_us) };
    }),
  );
  await query(
    `with given as (
       select row_number() over () as place, g.*
       from json_to_recordset($6::json) as g (name text, key text, key_sha text, micros bigint, vals json, ends_at timestamptz)),
     newest as (select counter_changes from org_heads where org_id = $1 order by audit_seq desc limit 1),
     entries as (
       insert into counter_entries (org_id, mode, name, key_sha, seq, changed, at, intent_id, micros, state, vals, ends_at)
       select $1, $2, name, decode(key_sha, 'hex'), counter_changes + place, true, $5::timestamptz, $3, micros, $7, vals, ends_at
       from given cross join newest),
     keys as (
       insert into counters (org_id, mode, name, key_sha, key, agent_id, ends_at)
       select $1, $2, name, decode(key_sha, 'hex'), key, $4, ends_at from given
       order by name, key_sha
       on conflict (org_id, mode, name, key_sha) do nothing
       returning true)
     update org_heads h
     set counter_keys = counter_keys + (select count(*) from keys), counter_changes = counter_changes + (select count(*) from given)
     where h.org_id = $1 and h.audit_seq = (select max(audit_seq) from org_heads where org_id = $1)`,
    [org_id, mode, intent_id, agent_id, at, given, state],
  );
  return [intent_id];
}
