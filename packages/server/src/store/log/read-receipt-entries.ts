/** Reads what a receipt is made of (decision 0064). */
import { hashesOf, inclusionRanges, type TreeHash, tilesOf } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readBounded } from "../rows/bounded-page.ts";
import { readTiles } from "./read-tiles.ts";

/** Documents are texts as stored, salts hex. Null: erased, or the type has no such document. */
export interface ReceiptRow {
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

const columns = `entry, seq, type, ledger_leaf(l) as leaf, intent::text, facts::text, data::text,
  encode(intent_salt, 'hex') as intent_salt, encode(facts_salt, 'hex') as facts_salt, encode(data_salt, 'hex') as data_salt`;

/**
 * Returns the decision's entry, then the others of the intent, in order, without those of deliveries. Up to 1,000 and
 * about 4 MiB.
 */
export async function readReceiptRows(query: Query, org_id: string, intent_id: string): Promise<ReceiptRow[]> {
  const of = "from ledger l where org_id = $1 and intent_id = $2 and type";
  const { rows } = await readBounded<ReceiptRow>(
    query,
    {
      columns: "*",
      bytes: "coalesce(octet_length(intent), 0) + coalesce(octet_length(facts), 0) + coalesce(octet_length(data), 0)",
      from: `from (
        select ${columns} ${of} = 'decided'
        union all (select ${columns} ${of} <> 'decided' and type not in ('delivered', 'delivery_failed', 'delivery_retried')
          order by seq limit ${entries_max - 1})) found_entries`,
      order: "seq",
      limit: String(entries_max),
    },
    [org_id, intent_id],
  );
  return rows;
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
