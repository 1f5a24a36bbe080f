import type {
  LogCheckpointQuery,
  LogConsistency,
  LogConsistencyQuery,
  LogKey,
  LogWitness,
} from "@countersign/contract";
import {
  Fault,
  faultAt,
  hash_bytes,
  parseTilePath,
  signatureTypes,
  tileWidth,
  type VerifierKey,
  verifierKeyText,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readLogKeys, type LogKey as StoredLogKey } from "../../store/log/log-keys.ts";
import { readWitnesses, type WitnessState } from "../../store/log/log-witnesses.ts";
import { readCheckpoint, type SignedCheckpoint } from "../../store/log/read-checkpoint.ts";
import { consistencyProof } from "../../store/log/read-proofs.ts";
import { readTiles } from "../../store/log/read-tiles.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

type Reading = Pick<Runtime, "db">;
type Reader = Pick<Caller, "org_id">;

/** Returns the newest checkpoint as a signed note with its cosignatures. Faults: unavailable, not_found (none is cosigned). */
export async function readLogCheckpoint(
  { db }: Reading,
  { org_id }: Reader,
  { cosigned }: LogCheckpointQuery,
): Promise<string> {
  return db.tenant(org_id, async (query) => {
    const witnesses = await readWitnesses(query, org_id);
    const { note } = cosigned === "true" ? newestCosigned(witnesses) : await checkpointOf(query, org_id);
    const lines = witnesses.map((each) => (each.note === note ? each.line : null));
    return `${note}${lines.filter((line) => line !== null).join("")}`;
  });
}

function newestCosigned(witnesses: readonly WitnessState[]): { readonly note: string } {
  const [newest] = [...witnesses].sort((a, b) => b.size - a.size);
  if (newest === undefined || newest.note === null) throw new Fault("not_found");
  return { note: newest.note };
}

/** Lists the witnesses that were asked. Faults: unavailable. */
export async function listLogWitnesses({ db }: Reading, { org_id }: Reader): Promise<LogWitness[]> {
  return db.tenant(org_id, async (query) => {
    const { size } = await checkpointOf(query, org_id);
    const witnesses = await readWitnesses(query, org_id);
    return witnesses.map(({ witness, size: cosigned_size, cosigned_at, problem, failing_since }) => ({
      ...{ name: witness, cosigned_size, cosigned_at },
      ...{ behind: Math.max(0, size - cosigned_size), problem, failing_since },
    }));
  });
}

/** Faults: unavailable. */
export async function checkpointOf(query: Query, org_id: string): Promise<SignedCheckpoint> {
  const checkpoint = await readCheckpoint(query, org_id);
  if (checkpoint === null) throw new Fault("unavailable", { internal: "the log has no checkpoint yet" });
  return checkpoint;
}

/** Faults: not_found, unavailable. */
export async function readLogTile({ db }: Reading, { org_id }: Reader, path: string): Promise<Uint8Array> {
  const tile = parseTilePath(path);
  if (tile === null) throw new Fault("not_found");
  return db.tenant(org_id, async (query) => {
    const { size } = await checkpointOf(query, org_id);
    if (tile.width > tileWidth(tile, size)) throw new Fault("not_found");
    const read = await readTiles(query, org_id, [tile]);
    return read(tile).subarray(0, tile.width * hash_bytes);
  });
}

/** Faults: invalid_request, unavailable. */
export async function readLogConsistency(
  { db }: Reading,
  { org_id }: Reader,
  { from, to: asked_to }: LogConsistencyQuery,
): Promise<LogConsistency> {
  return db.tenant(org_id, async (query) => {
    const { size } = await checkpointOf(query, org_id);
    const to = asked_to ?? size;
    if (to > size) throw tooLarge("/to", size);
    if (from > to) throw tooLarge("/from", to);
    const proof = await consistencyProof(query, org_id, from, to);
    return { from, to, proof: proof.map((hash) => Buffer.from(hash).toString("base64")) };
  });
}

function tooLarge(path: string, size: number): Fault {
  return faultAt("invalid_request", path, "out_of_range", `Send a size of at most ${size}.`);
}

/** Faults: unavailable. */
export async function listLogKeys({ db }: Reading, { org_id }: Reader): Promise<LogKey[]> {
  return db.tenant(org_id, async (query) => {
    const { origin } = await checkpointOf(query, org_id);
    return (await readLogKeys(query, org_id)).map((key) => shownKey(key, origin));
  });
}

export function shownKey(
  { public_key, created_at, retired_at }: Pick<StoredLogKey, "public_key" | "created_at" | "retired_at">,
  origin: string,
): LogKey {
  return { verifier_key: verifierKeyText(verifierOf(origin, public_key)), created_at, retired_at };
}

export function verifierOf(origin: string, public_key: Uint8Array): VerifierKey {
  return { name: origin, type: signatureTypes.ed25519, public_key };
}
