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
  /** Of a key that does not exist: the version above which it will begin. */
  readonly version: number;
  /** The action whose decision added an entry last. */
  readonly last_id: string | null;
  readonly entries: readonly CounterEntry[];
  /** The key does not exist, and the organization has as many keys as it may. Or the key has too many entries to be read. */
  readonly full: boolean;
}

/** Returns the first 16 bytes of the hash of a key, in hex. */
export function keySha(key: string): string {
  return sha256Hex(key).slice(0, 32);
}

interface Row {
  readonly place: number;
  readonly version: number;
  readonly last_id: string | null;
  readonly is_new: boolean;
  readonly counter_keys: number;
  readonly intent_id: string | null;
  readonly at_us: number;
  readonly micros: number | null;
  readonly state: EntryState;
  readonly vals: Readonly<Record<string, string>> | null;
}

/** Reads keys with their entries in one snapshot, in the order of `wanted`. `except`: an action whose entries are left out. */
export async function readCounters(
  query: Query,
  org_id: string,
  mode: string,
  wanted: readonly WantedCounter[],
  except: string | null = null,
): Promise<StoredCounter[]> {
  const { counter_keys_max, counter_actions_per_key_max: entries_max } = limits;
  const rows = await query<Row>(
    `select w.place, coalesce(k.version, h.counter_floor) as version, k.last_id, k.version is null as is_new, h.counter_keys, e.intent_id, ${microseconds("e.at")} as at_us, e.micros, e.state, e.vals
     from unnest($3::text[], $4::bytea[], $5::timestamptz[]) with ordinality w (name, key_sha, since, place)
     cross join lateral (select counter_keys, counter_floor from org_heads where org_id = $1 order by audit_seq desc limit 1) h
     left join lateral (
       select version, last_id, key_sha from counters c
       where c.org_id = $1 and c.mode = $2 and c.name = w.name and c.key_sha = w.key_sha limit 1) k on true
     left join lateral (
       select * from counter_entries c where c.org_id = $1 and c.mode = $2 and c.name = w.name and c.key_sha = k.key_sha
         and c.at >= w.since and c.intent_id is distinct from $6::text
       order by c.at desc limit ${entries_max + 1}) e on true
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
    const version = Number(first.version);
    const entries = own.flatMap(({ intent_id, at_us, micros, state, vals }) =>
      intent_id === null
        ? []
        : [
            {
              intent_id,
              at_us: Number(at_us),
              micros: micros === null ? null : Number(micros),
              state,
              values: vals ?? {},
            },
          ],
    );
    const has_no_room = first.is_new && Number(first.counter_keys) >= counter_keys_max;
    return { version, last_id: first.last_id, entries, full: has_no_room || entries.length > entries_max };
  });
}

/**
 * Changes what became of a counted action. `failed` and `executed` are trusted reports about an approved action. `at`: RFC 3339; null: its entries keep their times. A null state
 * releases it.
 */
export async function changeCounted(
  query: Query,
  org_id: string,
  intent_id: string,
  state: EntryState | "executed" | null,
  at: string | null,
): Promise<void> {
  await query("select change_counted($1, $2, $3, $4::timestamptz)", [org_id, intent_id, state, at]);
}

/**
 * Gives the entries of the action that holds the approval of a review to the action that uses the approval. Call it
 * before the approval gets its new holder.
 */
export async function moveCounted(query: Query, org_id: string, escalation_id: string, to: string): Promise<void> {
  await query(
    `select move_counted($1, coalesce(e.approval_holder, e.intent_id), $3) from escalations e
     where e.org_id = $1 and e.escalation_id = $2 and coalesce(e.approval_holder, e.intent_id) <> $3`,
    [org_id, escalation_id, to],
  );
}

/** Replaces the entries of an action. */
export async function replaceCounted(
  query: Query,
  org_id: string,
  action: { readonly intent_id: string; readonly agent_id: string; readonly mode: string },
  state: EntryState,
  at: string,
  counts: readonly CountedAction[],
): Promise<void> {
  const { intent_id, agent_id, mode } = action;
  await changeCounted(query, org_id, intent_id, null, null);
  if (counts.length === 0) return;
  const given = JSON.stringify(
    counts.map(({ name, key, micros, values, ends_us }) => {
      return { name, key, key_sha: keySha(key), micros, vals: values, ends_at: formatTimestampUs(ends_us) };
    }),
  );
  await query(
    `with given as (
       select * from json_to_recordset($6::json) as g (name text, key text, key_sha text, micros bigint, vals json, ends_at timestamptz)),
     newest as (select counter_floor from org_heads where org_id = $1 order by audit_seq desc limit 1),
     entries as (
       insert into counter_entries (org_id, mode, name, key_sha, at, intent_id, micros, state, vals, ends_at)
       select $1, $2, name, decode(key_sha, 'hex'), $5::timestamptz, $3, micros, $7, vals, ends_at from given),
     keys as (
       insert into counters as k (org_id, mode, name, key_sha, key, agent_id, version, ends_at)
       select $1, $2, g.name, decode(g.key_sha, 'hex'), g.key, $4, h.counter_floor + 1, g.ends_at from given g cross join newest h
       order by g.name, g.key_sha
       on conflict (org_id, mode, name, key_sha) do update
         set version = k.version + 1, ends_at = greatest(k.ends_at, excluded.ends_at)
       returning xmax = 0 as is_new)
     update org_heads h set counter_keys = counter_keys + (select count(*) from keys where is_new)
     where h.org_id = $1 and h.audit_seq = (select max(audit_seq) from org_heads where org_id = $1)`,
    [org_id, mode, intent_id, agent_id, at, given, state],
  );
}
