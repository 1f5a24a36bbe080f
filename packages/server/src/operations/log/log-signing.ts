import {
  type Checkpoint,
  checkpointText,
  formatTimestampUs,
  keyIdOf,
  type NoteSigner,
  publicKeyOf,
  signatureTypes,
  signNote,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type LogKey, readSigningKeys, seedContext } from "../../store/log/log-keys.ts";
import type { Runtime } from "../runtime.ts";

export type Signing = Pick<Runtime, "clock" | "ids" | "sealer">;

/** Returns a new Ed25519 key, and what the database stores of it. */
export function newLogKey(
  { clock, ids, sealer }: Signing,
  org_id: string,
  origin: string,
): NoteSigner & { readonly key: Omit<LogKey, "retired_at"> } {
  const seed = Buffer.from(ids.salt() + ids.salt(), "hex");
  const public_key = publicKeyOf(seed);
  const key_id = keyIdOf({ name: origin, type: signatureTypes.ed25519, public_key });
  const seed_sealed = sealer.seal(seed.toString("hex"), seedContext(org_id, key_id));
  const created_at = formatTimestampUs(clock.now_us());
  return { name: origin, seed, key: { key_id, public_key, seed_sealed, created_at } };
}

/** Returns the checkpoint as a note that every key in use has signed. */
export async function signCheckpoint(
  { sealer }: Pick<Signing, "sealer">,
  query: Query,
  org_id: string,
  checkpoint: Checkpoint,
): Promise<string> {
  const keys = await readSigningKeys(query, org_id);
  const signers = keys.map(({ key_id, seed_sealed }) => ({
    name: checkpoint.origin,
    seed: Buffer.from(sealer.open(seed_sealed, seedContext(org_id, key_id)), "hex"),
  }));
  return signNote(checkpointText(checkpoint), signers);
}
