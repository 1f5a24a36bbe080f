/** Proves that an archive has a range of the log's entries without a gap. */
import { hashesOf, rangeProofRanges, tilePath, tilesOf, tileWidth } from "@countersign/core";
import type { Client } from "@countersign/sdk";
import type { RangeProof } from "./layout.ts";
import type { Run } from "./leaf-runs.ts";

/** Reads the hashes beside a range from the log's tiles. `size` is that of the archive's checkpoint. */
export async function readRangeProof(client: Client, { first, last }: Run, size: number): Promise<RangeProof> {
  const ranges = rangeProofRanges(first, last, size);
  const tiles = new Map<string, Uint8Array>();
  for (const place of tilesOf(ranges)) {
    const path = tilePath({ ...place, width: tileWidth(place, size) });
    tiles.set(`${place.level}/${place.index}`, await client.getLogTile(path));
  }
  const hashes = hashesOf(ranges, ({ level, index }) => tiles.get(`${level}/${index}`) as Uint8Array);
  return { first, last, size, hashes: hashes.map((hash) => Buffer.from(hash).toString("base64")) };
}
