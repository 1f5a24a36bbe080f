/** Seals texts that the client keeps between two calls, so that it can neither read nor change them. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const cipher = "aes-256-gcm";
const iv_bytes = 12;
const tag_bytes = 16;
const prefix = "countersign1.";

export class Seal {
  readonly #key: Buffer;

  /** Every proxy with the same secret can open what this one sealed. */
  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "countersign mcp: state of a call, version 1", 32));
  }

  close(text: string): string {
    const iv = randomBytes(iv_bytes);
    const sealing = createCipheriv(cipher, this.#key, iv);
    const sealed = Buffer.concat([iv, sealing.update(text, "utf8"), sealing.final(), sealing.getAuthTag()]);
    return `${prefix}${sealed.toString("base64url")}`;
  }

  /** Returns null for a text that was not sealed with this secret, or was changed. */
  open(sealed: string): string | null {
    if (!sealed.startsWith(prefix)) return null;
    const bytes = Buffer.from(sealed.slice(prefix.length), "base64url");
    if (bytes.length < iv_bytes + tag_bytes) return null;
    const opening = createDecipheriv(cipher, this.#key, bytes.subarray(0, iv_bytes), { authTagLength: tag_bytes });
    opening.setAuthTag(bytes.subarray(-tag_bytes));
    try {
      const text = opening.update(bytes.subarray(iv_bytes, -tag_bytes), undefined, "utf8");
      return text + opening.final("utf8");
    } catch {
      return null;
    }
  }
}
