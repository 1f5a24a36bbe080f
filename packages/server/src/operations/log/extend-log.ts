/**
 * Adds a page of entries to the tree and signs a checkpoint. Signs only a tree that extends the last signed one and
 * every checkpoint that this node knows.
 */
import {
  edgeOf,
  extendTree,
  formatTimestampUs,
  hash_bytes,
  hashesOf,
  parseCheckpoint,
  parseNote,
  type ReadTile,
  signatureBy,
  signatureTypes,
  type TilePlace,
  type TreeHead,
  tile_width,
  tilesOf,
  tileWidth,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readLogKeys } from "../../store/log/log-keys.ts";
import {
  type Leaves,
  type LogProblem,
  type LogState,
  readLeaves,
  saveCheckpoint,
  saveProblem,
} from "../../store/log/log-state.ts";
import { readTiles } from "../../store/log/read-tiles.ts";
import { type Signing, signCheckpoint } from "./log-signing.ts";

export type KnownHead = TreeHead;

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Returns whether a checkpoint is smaller than a known one, or another of the same size. */
export function isOlder(head: TreeHead, known: KnownHead): boolean {
  return head.size < known.size || (head.size === known.size && !isSame(head.root, known.root));
}

type Extension = { readonly head: KnownHead; readonly more: boolean } | { readonly problem: LogProblem };

/** `log` must be locked. `known`: a checkpoint that was signed earlier; null: none. */
export async function extendLog(
  runtime: Signing,
  query: Query,
  org_id: string,
  log: LogState,
  { known, page_entries }: { readonly known: KnownHead | null; readonly page_entries: number },
): Promise<Extension> {
  const wrong = await problemOfLog(query, org_id, log, known);
  if (wrong !== null) return { problem: wrong };
  const full_tiles = Math.floor(log.size / tile_width);
  const limit = page_entries + tile_width;
  const leaves = await readLeaves(query, org_id, log.tiled_seq, limit);
  const problem = problemOfLeaves(leaves, log.size, full_tiles);
  if (problem !== null) return { problem };
  const places = edgeOf(full_tiles);
  const read = await readTiles(query, org_id, places);
  if (!areWhole(places, read, log.size)) return { problem: "changed" };
  const tree = extendTree(full_tiles, places.map(read), leaves.hashes ?? Buffer.alloc(0), log.size);
  if (!isSame(tree.old_root, log.root)) return { problem: "changed" };
  if (tree.size === log.size) {
    if (log.problem !== null) await saveProblem(query, org_id, null);
    return { head: log, more: false };
  }
  const { origin } = log;
  const { size, root, tiles } = tree;
  const note = await signCheckpoint(runtime, query, org_id, { origin, size, root });
  const signed_at = formatTimestampUs(runtime.clock.now_us());
  const [seq, tiled_seq] = [leaves.seq ?? log.seq, leaves.tiled_seq ?? log.tiled_seq];
  await saveCheckpoint(query, org_id, { size, root, note, signed_at, seq, tiled_seq }, tiles);
  return { head: { size, root }, more: leaves.count === limit };
}

function problemOfLeaves(leaves: Leaves, size: number, full_tiles: number): LogProblem | null {
  if (leaves.entries < size || leaves.count < size - full_tiles * tile_width) return "shrunk";
  const begins = leaves.first === null || leaves.first === full_tiles * tile_width;
  return begins && leaves.without_gap ? null : "changed";
}

/** Returns whether a key of this log signed the stored checkpoint. */
async function isOwnNote(query: Query, org_id: string, { origin, size, root, note }: LogState): Promise<boolean> {
  const signed = parseNote(note);
  const checkpoint = signed === null ? null : parseCheckpoint(signed.text);
  if (signed === null || checkpoint === null) return false;
  if (checkpoint.origin !== origin || checkpoint.size !== size || !isSame(checkpoint.root, root)) return false;
  const keys = await readLogKeys(query, org_id);
  return keys.some(
    ({ public_key }) => signatureBy(signed, { name: origin, type: signatureTypes.ed25519, public_key }) !== null,
  );
}

async function problemOfLog(
  query: Query,
  org_id: string,
  log: LogState,
  known: KnownHead | null,
): Promise<LogProblem | null> {
  if (known === null) return (await isOwnNote(query, org_id, log)) ? null : "changed";
  if (log.size < known.size) return "shrunk";
  if (log.size === known.size) return isSame(log.root, known.root) ? null : "changed";
  const range = known.size === 0 ? [] : [{ from: 0, to: known.size }];
  const places = tilesOf(range);
  const read = await readTiles(query, org_id, places);
  if (!areWhole(places, read, known.size)) return "changed";
  const [root = known.root] = hashesOf(range, read);
  return isSame(root, known.root) ? null : "changed";
}

/** Returns whether each tile has the hashes of a tree of this size. */
function areWhole(places: readonly TilePlace[], read: ReadTile, size: number): boolean {
  return places.every((place) => read(place).length >= tileWidth(place, size) * hash_bytes);
}
