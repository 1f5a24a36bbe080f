/**
 * AES-256-GCM, a new nonce each time, the context as associated data. See
 * docs/decisions/0019-replacing-the-master-key.md.
 */

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { KeyRing } from "../../ports.ts";

const nonce_bytes = 12;
const tag_bytes = 16;
const key_id_bytes = 8;

/** 32 bytes each. The others only open. */
export interface MasterKeys {
  readonly master_key: Uint8Array;
  readonly other_master_keys: readonly Uint8Array[];
}

interface NamedKey {
  readonly key_id: string;
  readonly key: Buffer;
}

/** 16 hex digits derived from the key. */
export function masterKeyId(master_key: Uint8Array): string {
  return derived(master_key, "countersign master key id", key_id_bytes).toString("hex");
}

/**
 * Seals with the master key, opens with all keys. A sealed text is `v2.<name of its key>.<base64url of nonce,
 * ciphertext and tag>`.
 */
export function createSealer(master_key: Uint8Array, other_master_keys: readonly Uint8Array[] = []): KeyRing {
  const [current, ...others] = [master_key, ...other_master_keys].map(named) as [NamedKey, ...NamedKey[]];
  const prefix = `v2.${current.key_id}.`;

  /** Throws if no key opens the text. */
  function opened(sealed: string, context: string): { readonly key_id: string; readonly text: string } {
    const [version, key_id, data = "", ...more] = sealed.split(".");
    if (version !== "v2" || more.length > 0) throw new Error("not a sealed text");
    const known = [current, ...others].find((each) => each.key_id === key_id);
    if (known === undefined) {
      const name = /^[0-9a-f]{16}$/.test(key_id ?? "") ? ` ${key_id}` : "";
      throw new Error(`sealed with the master key${name}, which is not set here (COUNTERSIGN_OTHER_MASTER_KEYS)`);
    }
    const text = decrypted(known.key, data, boundTo(known.key_id, context));
    if (text === null) throw new Error("a sealed text was changed, or belongs to something else");
    return { key_id: known.key_id, text };
  }

  return {
    key_id: current.key_id,
    prefix,
    other_key_ids: others.map(({ key_id }) => key_id),
    seal: (text, context) => prefix + encrypted(current.key, text, boundTo(current.key_id, context)),
    open: (sealed, context) => opened(sealed, context).text,
    openedBy(sealed, context) {
      try {
        return opened(sealed, context).key_id;
      } catch {
        return null;
      }
    },
  };
}

/** A text under another key's name cannot be opened. */
function boundTo(key_id: string, context: string): string {
  return `${key_id} ${context}`;
}

/** Derives a key for this use, because the master key may get other uses. */
function named(master_key: Uint8Array): NamedKey {
  return { key_id: masterKeyId(master_key), key: derived(master_key, "countersign sealed texts v1", 32) };
}

function derived(master_key: Uint8Array, use: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", master_key, "", use, bytes));
}

function encrypted(key: Buffer, text: string, associated: string): string {
  const nonce = randomBytes(nonce_bytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(associated));
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64url");
}

/** Null: the key or the associated data are wrong. */
function decrypted(key: Buffer, data: string, associated: string): string | null {
  const bytes = Buffer.from(data, "base64url");
  if (bytes.length < nonce_bytes + tag_bytes) return null;
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonce_bytes));
  decipher.setAAD(Buffer.from(associated)).setAuthTag(bytes.subarray(-tag_bytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonce_bytes, -tag_bytes)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
}
