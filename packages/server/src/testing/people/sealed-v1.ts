/** Sealed texts of before keys had names. */
import { createCipheriv, hkdfSync } from "node:crypto";

/** The text as version 1 sealed it. */
export function sealedV1(master_key: Buffer, text: string, context: string): string {
  const key = Buffer.from(hkdfSync("sha256", master_key, "", "countersign sealed texts v1", 32));
  const nonce = Buffer.alloc(12, 3);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
  const bytes = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `v1.${bytes.toString("base64url")}`;
}
