/** Signed notes, as in C2SP signed-note, with Ed25519. */
import { createPrivateKey, createPublicKey, hash, sign, verify } from "node:crypto";

/** The bytes of C2SP signed-note for a plain signature and for a cosignature. */
export const signatureTypes = { ed25519: 1, cosignature: 4 } as const;

export interface VerifierKey {
  readonly name: string;
  readonly type: number;
  /** 32 bytes. */
  readonly public_key: Uint8Array;
}

export interface NoteSigner {
  readonly name: string;
  /** 32 bytes. */
  readonly seed: Uint8Array;
}

export interface NoteSignature {
  readonly name: string;
  /** 8 hex digits. */
  readonly key_id: string;
  readonly signature: Uint8Array;
  /** With the newline. */
  readonly line: string;
}

export interface Note {
  /** With the last newline. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

const note_bytes_max = 100_000;

/** RFC 8410: what comes before the 32 bytes in DER. */
const seedHead = Buffer.from("302e020100300506032b657004220420", "hex");
const publicHead = Buffer.from("302a300506032b6570032100", "hex");

export function publicKeyOf(seed: Uint8Array): Uint8Array {
  const der = createPublicKey(privateKey(seed)).export({ type: "spki", format: "der" });
  return der.subarray(publicHead.length);
}

function privateKey(seed: Uint8Array) {
  return createPrivateKey({ key: Buffer.concat([seedHead, seed]), type: "pkcs8", format: "der" });
}

/** Returns 8 hex digits. */
export function keyIdOf({ name, type, public_key }: VerifierKey): string {
  return hash("sha256", Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(type), public_key])).slice(0, 8);
}

export function verifierKeyText(key: VerifierKey): string {
  return `${key.name}+${keyIdOf(key)}+${Buffer.concat([Buffer.of(key.type), key.public_key]).toString("base64")}`;
}

/** Returns null for a text that `verifierKeyText` does not write. */
export function parseVerifierKey(text: string): VerifierKey | null {
  const [, name = "", material = ""] = /^([^+]+)\+[0-9a-f]{8}\+(.+)$/.exec(text) ?? [];
  const bytes = Buffer.from(material, "base64");
  if (!isKeyName(name) || bytes.length !== 33) return null;
  const key = { name, type: bytes[0] as number, public_key: bytes.subarray(1) };
  return verifierKeyText(key) === text ? key : null;
}

/** Without spaces and plus, and not empty. */
function isKeyName(name: string): boolean {
  return name !== "" && !/[\s+\p{Cc}]/u.test(name);
}

export function signatureLine({ name, key_id, signature }: Omit<NoteSignature, "line">): string {
  return `— ${name} ${Buffer.concat([Buffer.from(key_id, "hex"), signature]).toString("base64")}\n`;
}

/** `text` ends in a newline. */
export function signNote(text: string, signers: readonly NoteSigner[]): string {
  const lines = signers.map(({ name, seed }) => {
    const key = { name, type: signatureTypes.ed25519, public_key: publicKeyOf(seed) };
    return signatureLine({ name, key_id: keyIdOf(key), signature: sign(null, Buffer.from(text), privateKey(seed)) });
  });
  return `${text}\n${lines.join("")}`;
}

/** Returns null for a malformed note. */
export function parseNote(note: string): Note | null {
  const end = note.lastIndexOf("\n\n");
  if (end < 0 || note.length > note_bytes_max || /(?!\n)\p{Cc}|\p{Surrogate}/u.test(note)) return null;
  const signatures = parseSignatures(note.slice(end + 2));
  return signatures === null || signatures.length === 0 ? null : { text: note.slice(0, end + 1), signatures };
}

/** Returns null if a line is malformed. */
export function parseSignatures(lines: string): NoteSignature[] | null {
  if (!lines.endsWith("\n")) return null;
  const signatures = lines.slice(0, -1).split("\n").map(parseSignature);
  return signatures.every((each) => each !== null) ? signatures : null;
}

function parseSignature(line: string): NoteSignature | null {
  const [dash, name = "", text = "", ...rest] = line.split(" ");
  const bytes = Buffer.from(text, "base64");
  if (dash !== "—" || !isKeyName(name) || rest.length > 0 || bytes.length < 5) return null;
  if (bytes.toString("base64") !== text) return null;
  return { name, key_id: bytes.toString("hex", 0, 4), signature: bytes.subarray(4), line: `${line}\n` };
}

/** Returns the note's signature by this key, if there is one and it is valid. Else null. */
export function signatureBy(note: Note, key: VerifierKey): NoteSignature | null {
  const key_id = keyIdOf(key);
  const own = note.signatures.find((each) => each.name === key.name && each.key_id === key_id);
  return own !== undefined && isSignedBy(key.public_key, note.text, own.signature) ? own : null;
}

/** Returns false for a key that is no point of the curve. */
export function isSignedBy(public_key: Uint8Array, text: string, signature: Uint8Array): boolean {
  const key = createPublicKey({ key: Buffer.concat([publicHead, public_key]), type: "spki", format: "der" });
  return verify(null, Buffer.from(text), key, signature);
}
