import { createHash } from "node:crypto";

/** The strong entity tag of these bytes. */
export function etagOf(content: string | Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 27)}"`;
}

/**
 * What proxies that compress an answer append to its tag, inside the quotes or after them. They do not remove the suffix from
 * the requests that they pass on.
 */
const compressionSuffix = /^"?(?:--?|;)(?:gzip|br|zstd|deflate)"?$/;

/** Whether If-None-Match names the tag. Compares weakly (RFC 9110 §13.1.2) and ignores the suffix of a compressing proxy. */
export function isNamedBy(etag: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  const start = etag.slice(0, -1);
  return header.split(",").some((listed) => {
    const tag = listed.trim().replace(/^W\//, "");
    return tag === etag || (tag.startsWith(start) && compressionSuffix.test(tag.slice(start.length)));
  });
}
