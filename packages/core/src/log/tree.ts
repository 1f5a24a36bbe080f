/** The Merkle tree of RFC 9162 §2.1 with SHA-256. Sizes and indexes are integers up to 2^53. */
import { hash } from "node:crypto";

/** 32 bytes. */
export type TreeHash = Uint8Array;

/** Leaves `from` to `to - 1`, as RFC 9162 splits a tree. */
export interface LeafRange {
  readonly from: number;
  readonly to: number;
}

/** The complete subtree over leaves `index * 2^level` to `(index + 1) * 2^level - 1`. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

export const hash_bytes = 32;

export const emptyRoot: TreeHash = hash("sha256", "", "buffer");

const pair = Buffer.alloc(1 + 2 * hash_bytes, 1);

export function nodeHash(left: TreeHash, right: TreeHash): TreeHash {
  pair.set(left, 1);
  pair.set(right, 1 + hash_bytes);
  return hash("sha256", pair, "buffer");
}

/** Returns the largest power of two below `size`. */
function splitOf(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** Returns the complete subtrees of a range, from left to right. */
export function nodesOf({ from, to }: LeafRange): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let at = from, level = Math.ceil(Math.log2(to - from + 1)); level >= 0; level -= 1) {
    if (to - at < 2 ** level) continue;
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** Returns the hash of a range from those of its complete subtrees. */
export function joinNodes(hashes: readonly TreeHash[]): TreeHash {
  return hashes.reduceRight((right, left) => nodeHash(left, right));
}

/**
 * Returns the hash of a complete subtree from those of its 2^n parts of one size, one after the other. Each row of the
 * tree replaces the one below in a copy. Digests are written as "binary" texts, because a buffer for each one costs more than
 * its hash.
 */
export function completeHash(parts: Uint8Array): TreeHash {
  const row = Buffer.from(parts);
  for (let bytes = row.length; bytes > hash_bytes; bytes /= 2)
    for (let at = 0; at < bytes; at += 2 * hash_bytes) {
      row.copy(pair, 1, at, at + 2 * hash_bytes);
      row.write(hash("sha256", pair, "binary"), at / 2, "binary");
    }
  return row.subarray(0, hash_bytes);
}

/** Returns the ranges with the hashes of the inclusion proof, in its order. Requires `index < size`. */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const split = from + splitOf(to - from);
    if (index < split) {
      ranges.unshift({ from: split, to });
      to = split;
    } else {
      ranges.unshift({ from, to: split });
      from = split;
    }
  }
  return ranges;
}

/** Returns the ranges with the hashes of the consistency proof, in its order. Requires `0 < old_size <= size`. */
export function consistencyRanges(old_size: number, size: number): LeafRange[] {
  const ranges: LeafRange[] = [];
  let [from, to] = [0, size];
  while (to > old_size) {
    const split = from + splitOf(to - from);
    if (old_size <= split) {
      ranges.unshift({ from: split, to });
      to = split;
    } else {
      ranges.unshift({ from, to: split });
      from = split;
    }
  }
  return from === 0 ? ranges : [{ from, to }, ...ranges];
}

const isHash = (bytes: Uint8Array): boolean => bytes.length === hash_bytes;

export interface Inclusion {
  readonly index: number;
  readonly size: number;
  readonly leaf_hash: TreeHash;
  readonly root: TreeHash;
}

/** RFC 9162 §2.1.3.2. */
export function isIncluded({ index, size, leaf_hash, root }: Inclusion, proof: readonly TreeHash[]): boolean {
  if (index >= size || ![leaf_hash, ...proof].every(isHash)) return false;
  let [at, last, found] = [index, size - 1, leaf_hash];
  for (const sibling of proof) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      found = nodeHash(sibling, found);
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else found = nodeHash(found, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && Buffer.compare(found, root) === 0;
}

export interface TreeHead {
  readonly size: number;
  readonly root: TreeHash;
}

/** RFC 9162 §2.1.4.2, which has no proofs from an empty tree. */
export function isExtension(old: TreeHead, head: TreeHead, proof: readonly TreeHash[]): boolean {
  if (old.size === 0 || old.size > head.size || !proof.every(isHash)) return false;
  if (old.size === head.size) return proof.length === 0 && Buffer.compare(old.root, head.root) === 0;
  let [at, last] = [old.size - 1, head.size - 1];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  const [first, ...others] = at === 0 ? [old.root, ...proof] : proof;
  if (first === undefined) return false;
  let [found_old, found] = [first, first];
  for (const each of others) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [found_old, found] = [nodeHash(each, found_old), nodeHash(each, found)];
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else found = nodeHash(found, each);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && Buffer.compare(found_old, old.root) === 0 && Buffer.compare(found, head.root) === 0;
}

/**
 * Returns the ranges whose hashes prove that the tree of this size has the leaves `first` to `last` at their places, and no
 * other leaf between them. From left to right. Requires `first <= last < size`.
 */
export function rangeProofRanges(first: number, last: number, size: number): LeafRange[] {
  const left = inclusionRanges(first, size).filter(({ to }) => to <= first);
  const right = inclusionRanges(last, size).filter(({ from }) => from > last);
  return [...left.reverse(), ...right];
}

/** A part of a tree: the hash of leaf number n for each n from `first` to `last`. */
export interface LeafRun {
  readonly first: number;
  readonly last: number;
  readonly leafHash: (index: number) => TreeHash;
}

/** Returns the root that these leaves and the hashes of `rangeProofRanges` have. Null: the proof is too long or too short. */
export function rootOfRange(
  { first, last, leafHash }: LeafRun,
  size: number,
  proof: readonly TreeHash[],
): TreeHash | null {
  if (first > last || last >= size || proof.length !== rangeProofRanges(first, last, size).length) return null;
  let used = 0;
  const rootOf = (from: number, to: number): TreeHash => {
    if (to <= first || from > last) return proof[used++] as TreeHash;
    if (to - from === 1) return leafHash(from);
    const split = from + splitOf(to - from);
    const left = rootOf(from, split);
    return nodeHash(left, rootOf(split, to));
  };
  return rootOf(0, size);
}
