/** RFC 9162 §2.1, as written there: slow, and without code of the product. */
import { sha256 } from "./signing.ts";

const leafOf = (leaf: string): Buffer => sha256(Buffer.of(0), leaf);
const nodeOf = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.of(1), left, right);

/** The largest power of two below `size`. */
function split(size: number): number {
  let power = 1;
  while (power * 2 < size) power *= 2;
  return power;
}

export function rootOf(leaves: readonly string[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leafOf(leaves[0] as string);
  const at = split(leaves.length);
  return nodeOf(rootOf(leaves.slice(0, at)), rootOf(leaves.slice(at)));
}

/** PATH(m, D[n]). */
export function inclusionPath(index: number, leaves: readonly string[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const at = split(leaves.length);
  return index < at
    ? [...inclusionPath(index, leaves.slice(0, at)), rootOf(leaves.slice(at))]
    : [...inclusionPath(index - at, leaves.slice(at)), rootOf(leaves.slice(0, at))];
}

/** PROOF(m, D[n]). */
export function consistencyPath(size: number, leaves: readonly string[]): Buffer[] {
  return size === 0 || size === leaves.length ? [] : subPath(size, leaves, true);
}

function subPath(size: number, leaves: readonly string[], whole: boolean): Buffer[] {
  if (size === leaves.length) return whole ? [] : [rootOf(leaves)];
  const at = split(leaves.length);
  return size <= at
    ? [...subPath(size, leaves.slice(0, at), whole), rootOf(leaves.slice(at))]
    : [...subPath(size - at, leaves.slice(at), false), rootOf(leaves.slice(0, at))];
}
