/** Sealing with the master key: AES-256-GCM, a fresh nonce each time, the context as associated data. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Sealer } from "../operations/sealer.ts";

const version = "v1";
const nonce_bytes = 12;
const tag_bytes = 16;

/** `master_key`: 32 bytes. What is sealed reads `v1.<base64url of nonce, ciphertext and tag>`. */
export function createSealer(master_key: Buffer): Sealer {
  // A key of its own for this use: the master key may get others.
  const key = Buffer.from(hkdfSync("sha256", master_key, "", "countersign sealed texts v1", 32));
  return {
    seal(text, context) {
      const nonce = randomBytes(nonce_bytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${version}.${sealed.toString("base64url")}`;
    },
    open(sealed, context) {
      const [prefix, data = ""] = sealed.split(".", 2);
      const bytes = Buffer.from(data, "base64url");
      if (prefix !== version || bytes.length < nonce_bytes + tag_bytes) throw new Error("not a sealed text");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonce_bytes));
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-tag_bytes));
      const text = Buffer.concat([decipher.update(bytes.subarray(nonce_bytes, -tag_bytes)), decipher.final()]);
      return text.toString("utf8");
    },
  };
}
