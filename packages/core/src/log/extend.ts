/** Adds leaves to a tree, of which only the right edge is at hand. */
import { hashesOf, splitHashes, type TilePlace, tile_width, tileHash } from "./tiles.ts";
import { emptyRoot, hash_bytes, type TreeHash, type TreeHead } from "./tree.ts";

/** A full tile. `hashes`: 256 leaf hashes; null at higher levels. */
export interface FullTile extends TilePlace {
  readonly hash: TreeHash;
  readonly hashes: Uint8Array | null;
}

interface Extended extends TreeHead {
  /** The tiles that became full, in their order. */
  readonly tiles: readonly FullTile[];
}

/** Returns the partial tiles above level 0 that a tree with this many full tiles of level 0 ends in. */
export function edgeOf(full_tiles: number): TilePlace[] {
  const places: TilePlace[] = [];
  for (let [level, count] = [1, full_tiles]; count > 0; level += 1) {
    const index = Math.floor(count / tile_width);
    places.push({ level, index });
    count = index;
  }
  return places;
}

/**
 * Returns the tree of `leaves`, which begin with the first leaf that is in no full tile, and the root of its first
 * `old_size` leaves. `edge`: the tiles of `edgeOf`, in its order.
 */
export function extendTree(
  full_tiles: number,
  edge: readonly Uint8Array[],
  leaves: Uint8Array,
  old_size: number,
): Extended & { readonly old_root: TreeHash } {
  const levels = edge.map((hashes) => splitHashes(hashes));
  const counts = edgeOf(full_tiles).map(({ index }) => index);
  const count = leaves.length / hash_bytes;
  const tiles: FullTile[] = [];
  const rootOf = (size: number, first_tile: number): TreeHash =>
    size === 0
      ? emptyRoot
      : (hashesOf([{ from: 0, to: size }], ({ level }) =>
          level === 0
            ? leaves.subarray((first_tile - full_tiles) * tile_width * hash_bytes)
            : Buffer.concat(levels[level - 1] ?? []),
        )[0] as TreeHash);
  const old_root = rootOf(old_size, full_tiles);

  function add(level: number, hash: TreeHash): void {
    const row = [...(levels[level - 1] ?? []), hash];
    levels[level - 1] = row;
    if (row.length < tile_width) return;
    const index = counts[level - 1] ?? 0;
    const full = { level, index, hash: tileHash(Buffer.concat(row)), hashes: null };
    tiles.push(full);
    levels[level - 1] = [];
    counts[level - 1] = index + 1;
    add(level + 1, full.hash);
  }

  const new_tiles = Math.floor(count / tile_width);
  for (let n = 0; n < new_tiles; n += 1) {
    const hashes = leaves.subarray(n * tile_width * hash_bytes, (n + 1) * tile_width * hash_bytes);
    const full = { level: 0, index: full_tiles + n, hash: tileHash(hashes), hashes };
    tiles.push(full);
    add(1, full.hash);
  }
  const size = full_tiles * tile_width + count;
  return { size, root: rootOf(size, full_tiles + new_tiles), tiles, old_root };
}
