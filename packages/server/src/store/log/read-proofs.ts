import {
  consistencyRanges,
  hashesOf,
  inclusionRanges,
  type LeafRange,
  type TreeHash,
  tilesOf,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readTiles } from "./read-tiles.ts";

/**
 * Returns the inclusion proof of RFC 9162 for the leaf `index` in the tree of the first `size` leaves. Requires
 * `index < size`, and a `size` of at most the newest checkpoint's.
 */
export function inclusionProof(query: Query, org_id: string, index: number, size: number): Promise<TreeHash[]> {
  return readHashes(query, org_id, inclusionRanges(index, size));
}

/**
 * Returns the consistency proof of RFC 9162 from the tree of the first `from` leaves to that of the first `to`. Requires
 * `0 < from <= to`, and a `to` of at most the newest checkpoint's size.
 */
export function consistencyProof(query: Query, org_id: string, from: number, to: number): Promise<TreeHash[]> {
  return readHashes(query, org_id, consistencyRanges(from, to));
}

async function readHashes(query: Query, org_id: string, ranges: readonly LeafRange[]): Promise<TreeHash[]> {
  return hashesOf(ranges, await readTiles(query, org_id, tilesOf(ranges)));
}
