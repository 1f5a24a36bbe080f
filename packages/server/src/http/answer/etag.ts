import { createHash } from "node:crypto";

/** The strong entity tag of these bytes. */
export function etagOf(content: string | Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 27)}"`;
}

/**
 * Whether If-None-Match names the tag; compared weakly, as RFC 9110 §13.1.2 asks, and also as Apache hands it out where it has
 * compressed the answer: it does not take back what it adds.
 */
export function isNamedBy(etag: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  const names = [etag, etag.replace(/"$/, '-gzip"')];
  return header.trim() === "*" || header.split(",").some((tag) => names.includes(tag.trim().replace(/^W\//, "")));
}
