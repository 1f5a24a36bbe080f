/** Checkpoints, as in C2SP tlog-checkpoint, and their cosignatures, as in C2SP tlog-cosignature. */
import { isSignedBy, keyIdOf, type NoteSignature, signatureTypes, type VerifierKey } from "./note.ts";
import type { TreeHead } from "./tree.ts";

export interface Checkpoint extends TreeHead {
  readonly origin: string;
}

/** Returns the body of the note. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString("base64")}\n`;
}

/** Returns null for a text that `checkpointText` does not write. This service writes no extension lines. */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin = "", size = "", root = ""] = text.split("\n");
  const checkpoint = { origin, size: Number(size), root: Buffer.from(root, "base64") };
  const valid =
    origin !== "" && Number.isSafeInteger(checkpoint.size) && checkpoint.size >= 0 && checkpoint.root.length === 32;
  return valid && checkpointText(checkpoint) === text ? checkpoint : null;
}

/** Returns the line's time in seconds since the Unix epoch. Null: not this witness, or the signature is invalid. */
export function cosignedAt(text: string, line: NoteSignature, witness: VerifierKey): number | null {
  const { name, key_id, signature } = line;
  if (witness.type !== signatureTypes.cosignature || name !== witness.name || key_id !== keyIdOf(witness)) return null;
  if (signature.length !== 72) return null;
  const bytes = Buffer.from(signature);
  const time_s = Number(bytes.readBigUInt64BE());
  const message = `cosignature/v1\ntime ${time_s}\n${text}`;
  return time_s > 0 && isSignedBy(witness.public_key, message, bytes.subarray(8)) ? time_s : null;
}
