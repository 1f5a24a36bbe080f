import { createHash } from "node:crypto";

/** The strong entity tag of these bytes. */
export function etagOf(content: string | Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 27)}"`;
}

/** Whether If-None-Match names the tag; compared weakly, as RFC 9110 §13.1.2 asks. */
export function isNamedBy(etag: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.trim() === "*" || header.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
}
