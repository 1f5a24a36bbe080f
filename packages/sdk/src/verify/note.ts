/**
 * Checkpoints (C2SP tlog-checkpoint) as signed notes (C2SP signed-note), cosignatures of witnesses (C2SP
 * tlog-cosignature), and the text of verifier keys. Names are printable ASCII.
 */
import { type Bytes, base64Bytes, base64Hash, hexOf, same, sha256, utf8 } from "./bytes.ts";
import { Refused } from "./refused.ts";
import type { TreeHead } from "./tree.ts";

/** The type byte of a verifier key: a log's key, or a witness's. */
const log_key = 1;
const witness_key = 4;

const signatures_max = 16;

export interface VerifierKey {
  /** The whole text. */
  readonly text: string;
  readonly name: string;
  readonly id: Bytes;
  readonly by: "log" | "witness";
  readonly public_key: Bytes;
}

interface SignatureLine {
  readonly name: string;
  readonly id: Bytes;
  readonly signature: Bytes;
}

export interface Checkpoint extends TreeHead {
  readonly origin: string;
  /** The text that the log signs. */
  readonly body: string;
  readonly signatures: readonly SignatureLine[];
}

/** Undefined: not the text of a verifier key of Ed25519, or its id is not that of its name and key. */
export async function verifierKey(text: string): Promise<VerifierKey | undefined> {
  const [, name, id_hex, encoded] = /^([!-*,-~]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text) ?? [];
  const bytes = base64Bytes(encoded ?? "");
  const type = bytes?.[0];
  if (name === undefined || bytes?.length !== 33 || (type !== log_key && type !== witness_key)) return undefined;
  const id = (await sha256(utf8(`${name}\n`), bytes)).slice(0, 4);
  if (hexOf(id) !== id_hex) return undefined;
  return { text, name, id, by: type === log_key ? "log" : "witness", public_key: bytes.slice(1) };
}

/** Throws `Refused` for any other text than a checkpoint of three lines with 1 to 16 signatures. */
export function parsedCheckpoint(note: string): Checkpoint {
  const [, body, origin, size_text, root_text, lines] =
    /^(([!-*,-~]+)\n(0|[1-9][0-9]{0,15})\n([A-Za-z0-9+/=]{44})\n)\n((?:— [!-*,-~]+ [A-Za-z0-9+/=]+\n)+)$/.exec(note) ??
    [];
  const root = base64Hash(root_text ?? "");
  const size = Number(size_text);
  if (
    body === undefined ||
    origin === undefined ||
    lines === undefined ||
    root === undefined ||
    !Number.isSafeInteger(size)
  )
    throw new Refused("checkpoint", "the checkpoint is not a signed note of three lines: name of the log, size, root");
  const signatures = lines.slice(0, -1).split("\n").map(signatureLine);
  if (signatures.length > signatures_max)
    throw new Refused("checkpoint", `the checkpoint has more than ${signatures_max} signatures`);
  return { origin, body, size, root, signatures };
}

function signatureLine(line: string): SignatureLine {
  const [, name = "", encoded = ""] = line.split(" ");
  const bytes = base64Bytes(encoded);
  if (bytes === undefined || bytes.length <= 4)
    throw new Refused("checkpoint", `the signature of ${name} at the checkpoint is not canonical Base64`);
  return { name, id: bytes.slice(0, 4), signature: bytes.slice(4) };
}

export function isLineOf(line: SignatureLine, key: VerifierKey): boolean {
  return line.name === key.name && same(line.id, key.id);
}

/** Null: the log's key signed. A number: the witness signed at this time, in seconds since 1970. Throws `Refused`. */
export async function verifiedSignature(
  { body }: Checkpoint,
  { signature }: SignatureLine,
  key: VerifierKey,
): Promise<number | null> {
  const timed = key.by === "witness";
  const seconds = timed && signature.length === 72 ? new DataView(signature.buffer).getBigUint64(0) : undefined;
  const message = timed ? `cosignature/v1\ntime ${seconds}\n${body}` : body;
  const ed25519 = timed ? signature.slice(8) : signature;
  if (
    ed25519.length !== 64 ||
    (seconds !== undefined && seconds > Number.MAX_SAFE_INTEGER) ||
    !(await isSigned(key.public_key, ed25519, utf8(message)))
  )
    throw new Refused("signature", `the signature of ${key.name} does not match the checkpoint`);
  return seconds === undefined ? null : Number(seconds);
}

/** Thrown where WebCrypto has no Ed25519. */
export class Ed25519Missing extends Error {
  constructor() {
    super("this program cannot verify Ed25519 signatures: use Node.js 20 or newer, or a browser of 2025 or newer");
    this.name = "Ed25519Missing";
  }
}

export async function isSigned(public_key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  try {
    return await isSignedBy(public_key, signature, message);
  } catch {
    // Some runtimes refuse to import bytes that are no point of the curve.
    if (await canVerify()) return false;
    throw new Ed25519Missing();
  }
}

async function isSignedBy(public_key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  const key = await crypto.subtle.importKey("raw", public_key, "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, signature, message);
}

/** The example of C2SP signed-note. */
const example = {
  text: "This is an example message.\n",
  key: "6TJ5GubnqECkYWTJBHhkJtXngh3YspoA1hyucq/dTaQ=",
  signature: "SfyytXXIkaHZVhGUvVOdqC/VgSrpN9emnOLY42dwCVOArtm2DURFg1lexiM4EfeYVeZEq7AeMbVi7vYid7JpAw==",
};

/**
 * Returns false if WebCrypto of this runtime cannot verify Ed25519, as in browsers before 2025 and on pages that were
 * loaded by plain http.
 */
export async function canVerify(): Promise<boolean> {
  const [key, signature] = [base64Bytes(example.key), base64Bytes(example.signature)];
  if (key === undefined || signature === undefined) return false;
  try {
    return await isSignedBy(key, signature, utf8(example.text));
  } catch {
    return false;
  }
}
