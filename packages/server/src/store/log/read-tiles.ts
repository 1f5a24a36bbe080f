import { type ReadTile, type TilePlace, tile_width } from "@countersign/core";
import type { Query } from "../../ports.ts";

/**
 * One statement, so that all tiles are of one state. Rows: the hashes of each place, at least those under the newest
 * checkpoint. The level and the tiles below come as parameters: with row-level security, an index takes no computed
 * values, and the statement read all tiles.
 */
const statement = `with log as materialized (select seq, tiled_seq from logs where org_id = $1),
  asked as (
    select level, tile, below, first, last
    from unnest($2::smallint[], $3::bigint[], $4::smallint[], $5::bigint[], $6::bigint[]) a (level, tile, below, first, last))
  select a.level, a.tile as index, case
    when a.level > 0 then (
      select string_agg(t.hash, ''::bytea order by t.tile) from (
        select tile, hash from log_tiles where org_id = $1 and level = a.below and tile >= a.first and tile <= a.last) t)
    else coalesce(
      (select hashes from log_tiles where org_id = $1 and level = 0 and tile = a.tile),
      (select string_agg(l.hash, ''::bytea order by l.seq) from (
        select seq, hash from ledger where org_id = $1
          and seq > (select tiled_seq from log) and seq <= (select seq from log)) l))
    end as hashes
  from asked a`;

/** Reads tiles under the newest checkpoint. A tile that the tree does not have is empty, except at level 0. */
export async function readTiles(query: Query, org_id: string, places: readonly TilePlace[]): Promise<ReadTile> {
  const rows = await query<TilePlace & { readonly hashes: Buffer | null }>(statement, [
    org_id,
    places.map(({ level }) => level),
    places.map(({ index }) => index),
    places.map(({ level }) => level - 1),
    places.map(({ index }) => index * tile_width),
    places.map(({ index }) => (index + 1) * tile_width - 1),
  ]);
  const found = new Map(rows.map(({ level, index, hashes }) => [`${level}/${index}`, hashes ?? Buffer.alloc(0)]));
  return ({ level, index }) => found.get(`${level}/${index}`) as Buffer;
}
