import { createHash } from "node:crypto";

/** The strong entity tag of these bytes. */
export function etagOf(content: string | Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 27)}"`;
}

/**
 * What proxies that compress an answer append to its tag, inside the quotes or after them. They do not remove the suffix from
 * the requests that they pass on.
 */
const compressionSuffix = /(?:--?|;)(?:gzip|br|zstd|deflate)(?="?$)/;

/** Whether If-None-Match names the tag. Compares weakly (RFC 9110 §13.1.2) and ignores the suffix of a compressing proxy. */
export function isNamedBy(etag: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((listed) => {
    const tag = listed.trim().replace(/^W\//, "");
    // A tag of ours may end like a suffix by chance, so the whole tag is compared first.
    return tag === etag || tag.replace(compressionSuffix, "") === etag;
  });
}
