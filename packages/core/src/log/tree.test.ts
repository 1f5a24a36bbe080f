import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import vectors from "../../test/log/merkle-vectors.golden.json" with { type: "json" };
import { hashesOf, tile_width, tileWidth } from "./tiles.ts";
import {
  consistencyRanges,
  emptyRoot,
  inclusionRanges,
  isExtension,
  isIncluded,
  nodeHash,
  rangeProofRanges,
  rootOfRange,
  type TreeHash,
} from "./tree.ts";

const bytes = (text: string | null): Buffer => Buffer.from(text ?? "", "base64");
const leafOf = (n: number): TreeHash => hash("sha256", `\0leaf ${n}`, "buffer");
const leaves = Array.from({ length: 1_200 }, (_, n) => leafOf(n));

/** The words of RFC 9162 §2.1.1, without any storage. */
function naiveRoot(of: readonly TreeHash[]): TreeHash {
  if (of.length === 0) return emptyRoot;
  if (of.length === 1) return of[0] as TreeHash;
  const split = 2 ** Math.floor(Math.log2(of.length - 1));
  return nodeHash(naiveRoot(of.slice(0, split)), naiveRoot(of.slice(split)));
}

/** The tiles of a tree, computed by definition. */
const tiled = (size: number) => {
  const known = new Map<string, Buffer>();
  return ({ level, index }: { level: number; index: number }) => {
    const name = `${level}/${index}`;
    const per = tile_width ** level;
    const hashes = () =>
      Array.from({ length: tileWidth({ level, index }, size) }, (_, n) => {
        const from = (index * tile_width + n) * per;
        return naiveRoot(leaves.slice(from, from + per));
      });
    const tile = known.get(name) ?? Buffer.concat(hashes());
    known.set(name, tile);
    return tile;
  };
};

const sizes = fc.oneof(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 250, max: leaves.length }));

test("the hash of the empty tree and of a node are those of RFC 6962", () => {
  expect(Buffer.from(emptyRoot).toString("hex")).toBe(
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  );
  const children = ["N123", "N456"].map((each) => Buffer.from(each.padEnd(32, "\0")));
  const [left, right] = children as [Buffer, Buffer];
  expect(nodeHash(left, right)).toEqual(hash("sha256", Buffer.concat([Buffer.of(1), left, right]), "buffer"));
});

test("inclusion proofs are accepted and refused as by transparency-dev/merkle", () => {
  expect(vectors.inclusion).toHaveLength(98);
  for (const { leafIdx, treeSize, root, leafHash, proof, wantErr, desc } of vectors.inclusion) {
    const inclusion = { index: leafIdx, size: treeSize, leaf_hash: bytes(leafHash), root: bytes(root) };
    expect([desc, isIncluded(inclusion, (proof ?? []).map(bytes))]).toEqual([desc, !wantErr]);
  }
});

test("consistency proofs are accepted and refused as by transparency-dev/merkle", () => {
  expect(vectors.consistency).toHaveLength(98);
  for (const { size1, size2, root1, root2, proof, wantErr, desc } of vectors.consistency) {
    const heads = [
      { size: size1, root: bytes(root1) },
      { size: size2, root: bytes(root2) },
    ] as const;
    expect([desc, size1, size2, isExtension(...heads, (proof ?? []).map(bytes))]).toEqual([
      desc,
      size1,
      size2,
      !wantErr,
    ]);
  }
});

test("from tiles, the root of any size is the naive tree's, and every proof leads to it", () => {
  fc.assert(
    fc.property(sizes, fc.nat(), fc.nat(), (size, at, old) => {
      const read = tiled(size);
      const rootOf = (to: number) => hashesOf([{ from: 0, to }], read)[0] as TreeHash;
      const root = rootOf(size);
      expect(root).toEqual(naiveRoot(leaves.slice(0, size)));
      const index = at % size;
      const leaf_hash = leaves[index] as TreeHash;
      const proof = hashesOf(inclusionRanges(index, size), read);
      expect(isIncluded({ index, size, leaf_hash, root }, proof)).toBe(true);
      expect(isIncluded({ index, size, leaf_hash: leafOf(-1), root }, proof)).toBe(false);
      const old_size = 1 + (old % size);
      const old_head = { size: old_size, root: rootOf(old_size) };
      const extension = hashesOf(consistencyRanges(old_size, size), read);
      expect(isExtension(old_head, { size, root }, extension)).toBe(true);
      expect(isExtension({ ...old_head, root: leafOf(-1) }, { size, root }, extension)).toBe(false);
      expect(isExtension(old_head, { size, root: leafOf(-1) }, extension)).toBe(false);
    }),
    { numRuns: runs(1_000) },
  );
});

test("the hashes beside a range prove each of its leaves at its place, and no others", () => {
  fc.assert(
    fc.property(sizes, fc.nat(), fc.nat(), (size, one, other) => {
      const read = tiled(size);
      const [first = 0, last = 0] = [one % size, other % size].sort((a, b) => a - b);
      const root = hashesOf([{ from: 0, to: size }], read)[0] as TreeHash;
      const proof = hashesOf(rangeProofRanges(first, last, size), read);
      const rootBy = (leafHash: (index: number) => TreeHash) => rootOfRange({ first, last, leafHash }, size, proof);
      expect(rootBy((index) => leaves[index] as TreeHash)).toEqual(root);
      const changed = first + Math.floor((last - first) / 2);
      expect(rootBy((index) => leafOf(index === changed ? -1 : index))).not.toEqual(root);
      expect(rootOfRange({ first, last, leafHash: leafOf }, size, [...proof, root])).toBeNull();
      if (last > first)
        expect(rootOfRange({ first: first + 1, last, leafHash: leafOf }, size, proof)).not.toEqual(root);
      expect(rootOfRange({ first, last: size, leafHash: leafOf }, size, proof)).toBeNull();
    }),
    { numRuns: runs(500) },
  );
});
