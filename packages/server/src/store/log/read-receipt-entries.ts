/** Reads what a receipt is made of (decision 0064). */
import { hashesOf, inclusionRanges, type TreeHash, tilesOf } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { seqNear } from "../audit/audit.ts";
import { type BoundedPage, readBounded } from "../rows/bounded-page.ts";
import { newestHead } from "../rows/newest-head.ts";
import { readTiles } from "./read-tiles.ts";

/** Documents are texts as stored, salts hex. Null: erased, or the type has no such document. */
export interface ReceiptRow {
  readonly intent_id: string;
  readonly entry: number;
  readonly type: string;
  readonly leaf: string;
  readonly intent: string | null;
  readonly intent_salt: string | null;
  readonly facts: string | null;
  readonly facts_salt: string | null;
  readonly data: string | null;
  readonly data_salt: string | null;
}

const entries_max = 1_000;

/** Rows of one read of many intents. */
const page_rows_max = 2_000;

const columns = `intent_id, entry, seq, type, ledger_leaf(l) as leaf, intent::text, facts::text, data::text,
  encode(intent_salt, 'hex') as intent_salt, encode(facts_salt, 'hex') as facts_salt, encode(data_salt, 'hex') as data_salt`;
const bytes = "coalesce(octet_length(intent), 0) + coalesce(octet_length(facts), 0) + coalesce(octet_length(data), 0)";
const is_happening = "<> 'decided' and type not in ('delivered', 'delivery_failed', 'delivery_retried')";

/**
 * Returns the decision's entry, then the others of the intent, in order, without those of deliveries. Up to 1,000 and
 * about 4 MiB. `seq`: only entries up to this one; null: all.
 */
export async function readReceiptRows(
  query: Query,
  org_id: string,
  intent_id: string,
  seq: number | null = null,
): Promise<ReceiptRow[]> {
  const of = "from ledger l where org_id = $1 and intent_id = $2 and ($3::bigint is null or seq <= $3) and type";
  const { rows } = await readBounded<ReceiptRow>(
    query,
    {
      columns: "*",
      bytes,
      from: `from (
        select ${columns} ${of} = 'decided'
        union all (select ${columns} ${of} ${is_happening} order by seq limit ${entries_max - 1})) found_entries`,
      order: "seq",
      limit: String(entries_max),
    },
    [org_id, intent_id, seq],
  );
  return rows;
}

/** Returns for each of these intents what `readReceiptRows` returns. */
export async function readReceiptRowsOf(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
  seq: number,
): Promise<Map<string, ReceiptRow[]>> {
  const [first] = intent_ids;
  if (first === undefined) return new Map();
  if (intent_ids.length === 1) return new Map([[first, await readReceiptRows(query, org_id, first, seq)]]);
  const { rows, more } = await readRowsOf(query, org_id, intent_ids, seq);
  if (more || rows.length === page_rows_max) {
    const half = Math.ceil(intent_ids.length / 2);
    const left = await readReceiptRowsOf(query, org_id, intent_ids.slice(0, half), seq);
    return new Map([...left, ...(await readReceiptRowsOf(query, org_id, intent_ids.slice(half), seq))]);
  }
  const found = new Map<string, ReceiptRow[]>();
  for (const row of rows) {
    const of_intent = found.get(row.intent_id) ?? [];
    if (of_intent.length < entries_max) found.set(row.intent_id, [...of_intent, row]);
  }
  return found;
}

function readRowsOf(
  query: Query,
  org_id: string,
  intent_ids: readonly string[],
  seq: number,
): Promise<BoundedPage<ReceiptRow>> {
  const of = "from ledger l where org_id = $1 and intent_id = any ($2::text[]) and seq <= $3::bigint and type";
  return readBounded<ReceiptRow>(
    query,
    {
      columns: "*",
      bytes,
      from: `from (select ${columns} ${of} = 'decided' union all select ${columns} ${of} ${is_happening}) found_entries`,
      order: "seq",
      limit: String(page_rows_max),
    },
    [org_id, intent_ids, seq],
  );
}

/** A vote whose ruling a passkey signed. */
export interface SignedVote {
  readonly person: string;
  readonly passkey_id: string;
  /** Of the vote. */
  readonly entry: number;
}

/**
 * Returns by vote the entry in which the person registered the passkey, the newest before the vote. Leaves out erased
 * ones, and those of earlier versions, which have no key in the entry.
 */
export async function readRegistrations(
  query: Query,
  org_id: string,
  signed: readonly SignedVote[],
): Promise<Map<number, ReceiptRow>> {
  if (signed.length === 0) return new Map();
  const rows = await query<ReceiptRow & { vote: number }>(
    `select s.vote, found.* from json_to_recordset($2::json) as s (person text, passkey_id text, vote bigint)
     cross join lateral (
       select ${columns} from ledger l
       where org_id = $1 and actor = s.person and actor <> 'system' and actor not like 'key\\_%' and type = 'passkey_registered'
         and l.entry < s.vote and data ->> 'passkey_id' = s.passkey_id and data -> 'state' is not null
       order by seq desc limit 1) found`,
    [org_id, JSON.stringify(signed.map(({ entry: vote, ...each }) => ({ ...each, vote })))],
  );
  return new Map(rows.map(({ vote, ...row }) => [vote, row]));
}

/** Returns the inclusion proof of each leaf, from one statement. Requires each index to be below `size`. */
export async function inclusionProofs(
  query: Query,
  org_id: string,
  indexes: readonly number[],
  size: number,
): Promise<TreeHash[][]> {
  const paths = indexes.map((index) => inclusionRanges(index, size));
  const ranges = paths.flat();
  const hashes = hashesOf(ranges, await readTiles(query, org_id, tilesOf(ranges)));
  return paths.map((path) => hashes.splice(0, path.length));
}

/** Returns the last entry before a time (by about ten minutes more, because entries are not exactly in the order of times). Null: none. */
export async function lastEntryBefore(query: Query, org_id: string, time: string): Promise<number | null> {
  const [row] = await query<{ entry: number }>(
    `select entry from ledger where org_id = $1 and seq < ${seqNear("$2::timestamptz", 1)} order by seq desc limit 1`,
    [org_id, time],
  );
  return row?.entry ?? null;
}

/** Returns the seq of an entry, by about thirty halvings, because no index has the entries. See `seqNear`. */
export async function seqOfEntry(query: Query, org_id: string, entry: number): Promise<number> {
  const [row] = await query<{ seq: number }>(
    `with recursive halving (low, high) as (
      select 1::bigint, ${newestHead("$1", "audit_seq")}
      union all
      select case when later then low else middle + 1 end, case when later then middle else high end
      from (select low, high, (low + high) / 2 as middle from halving where low < high offset 0) h
      cross join lateral (select entry >= $2::bigint as later from ledger where org_id = $1 and seq >= middle order by seq limit 1) a
    ) select l.seq from halving cross join lateral (
        select seq, entry from ledger where org_id = $1 and seq >= low order by seq limit 1) l
      where low = high and l.entry = $2::bigint`,
    [org_id, entry],
  );
  if (row === undefined) throw new Error(`the ledger of ${org_id} has no entry ${entry}`);
  return row.seq;
}
