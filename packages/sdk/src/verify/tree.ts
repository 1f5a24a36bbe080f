/** Verifies proofs of RFC 9162 trees. Sizes and indexes are safe integers, so there are no bit operations. */
import { type Bytes, same, sha256 } from "./bytes.ts";

const leafPrefix = Uint8Array.of(0);
const nodePrefix = Uint8Array.of(1);

export function leafHash(leaf: Uint8Array): Promise<Bytes> {
  return sha256(leafPrefix, leaf);
}

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Bytes> {
  return sha256(nodePrefix, left, right);
}

const half = (number: number): number => Math.floor(number / 2);
const isOdd = (number: number): boolean => number % 2 === 1;

/** RFC 9162 §2.1.3.2. */
export async function isIncluded(
  leaf: Bytes,
  index: number,
  size: number,
  proof: readonly Bytes[],
  root: Bytes,
): Promise<boolean> {
  if (index >= size) return false;
  let node = index;
  let last = size - 1;
  let hash = leaf;
  for (const sibling of proof) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      hash = await nodeHash(sibling, hash);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else hash = await nodeHash(hash, sibling);
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && same(hash, root);
}

export interface TreeHead {
  readonly size: number;
  readonly root: Bytes;
}

/** RFC 9162 §2.1.4.2. Also accepts an empty proof for equal heads, and for an empty first tree. */
export async function isExtended(first: TreeHead, second: TreeHead, proof: readonly Bytes[]): Promise<boolean> {
  if (first.size === second.size) return proof.length === 0 && same(first.root, second.root);
  if (first.size > second.size) return false;
  if (first.size === 0) return proof.length === 0 && same(first.root, await sha256());
  const path = Number.isInteger(Math.log2(first.size)) ? [first.root, ...proof] : [...proof];
  const start = path.shift();
  if (start === undefined) return false;
  let node = first.size - 1;
  let last = second.size - 1;
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  let [first_hash, second_hash] = [start, start];
  for (const sibling of path) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      first_hash = await nodeHash(sibling, first_hash);
      second_hash = await nodeHash(sibling, second_hash);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else second_hash = await nodeHash(second_hash, sibling);
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && same(first_hash, first.root) && same(second_hash, second.root);
}
