/** Tiles of a tree, as in C2SP tlog-tiles: 256 hashes, each over 256^level leaves. */
import { completeHash, hash_bytes, joinNodes, type LeafRange, nodesOf, type TreeHash, type TreeNode } from "./tree.ts";

export const tile_width = 256;

export interface TilePlace {
  readonly level: number;
  readonly index: number;
}

export interface Tile extends TilePlace {
  /** 1 to 256 hashes. */
  readonly width: number;
}

/** Returns the hashes of a tile, one after the other; at least as many as the tree has. */
export type ReadTile = (place: TilePlace) => Uint8Array;

/** Returns how many hashes the tile has in a tree of this size. 0: there is no such tile. */
export function tileWidth({ level, index }: TilePlace, size: number): number {
  return Math.max(0, Math.min(tile_width, Math.floor(size / tile_width ** level) - index * tile_width));
}

/** Returns `<L>/<N>`, with `.p/<W>` for less than 256 hashes. */
export function tilePath({ level, index, width }: Tile): string {
  const digits = String(index);
  const parts = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/\d{3}/g) as string[];
  const part = width < tile_width ? `.p/${width}` : "";
  return `${level}/${parts.map((each, n) => (n < parts.length - 1 ? `x${each}` : each)).join("/")}${part}`;
}

const pathPattern = /^(\d{1,2})\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/(\d{1,3}))?$/;

/** Returns null for a text that `tilePath` does not write. */
export function parseTilePath(path: string): Tile | null {
  const [, level, index, width = tile_width] = pathPattern.exec(path) ?? [];
  if (level === undefined || index === undefined) return null;
  const tile = { level: Number(level), index: Number(index.replaceAll(/[x/]/g, "")), width: Number(width) };
  return tile.level <= 63 && tile.width >= 1 && tilePath(tile) === path ? tile : null;
}

interface Place {
  readonly tile: TilePlace;
  readonly first: number;
  readonly count: number;
}

function placeOf({ level, index }: TreeNode): Place {
  const count = 2 ** (level % 8);
  const tile_level = Math.floor(level / 8);
  const at = index * count;
  return { tile: { level: tile_level, index: Math.floor(at / tile_width) }, first: at % tile_width, count };
}

/** Returns the tiles that `hashesOf` reads, each once. */
export function tilesOf(ranges: readonly LeafRange[]): TilePlace[] {
  const places = ranges.flatMap(nodesOf).map((node) => placeOf(node).tile);
  return [...new Map(places.map((place) => [`${place.level}/${place.index}`, place])).values()];
}

/** Returns the hash of each range. Equal ranges are hashed once, because paths of neighbours share most of theirs. */
export function hashesOf(ranges: readonly LeafRange[], read: ReadTile): TreeHash[] {
  const found = new Map<string, TreeHash>();
  return ranges.map((range) => {
    const key = `${range.from}-${range.to}`;
    const hash = found.get(key) ?? joinNodes(nodesOf(range).map((node) => hashOf(node, read)));
    found.set(key, hash);
    return hash;
  });
}

function hashOf(node: TreeNode, read: ReadTile): TreeHash {
  const { tile, first, count } = placeOf(node);
  return completeHash(read(tile).subarray(first * hash_bytes, (first + count) * hash_bytes));
}

/** Returns the hash over a full tile. */
export function tileHash(hashes: Uint8Array): TreeHash {
  return completeHash(hashes);
}

export function splitHashes(hashes: Uint8Array): TreeHash[] {
  return Array.from({ length: hashes.length / hash_bytes }, (_, n) =>
    hashes.subarray(n * hash_bytes, (n + 1) * hash_bytes),
  );
}
