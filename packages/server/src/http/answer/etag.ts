import { createHash } from "node:crypto";

export function etagOf(content: string | Buffer): string {
  return `"${createHash("sha256").update(content).digest("base64url").slice(0, 27)}"`;
}

/** Compressing proxies append these suffixes to a tag, and do not remove them from requests. */
const compressionSuffix = /^"?(?:--?|;)(?:gzip|br|zstd|deflate)"?$/;

/** Compares weakly (RFC 9110, section 13.1.2). */
export function isNamedBy(etag: string, header: string | undefined): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  const start = etag.slice(0, -1);
  return header.split(",").some((listed) => {
    const tag = listed.trim().replace(/^W\//, "");
    return tag === etag || (tag.startsWith(start) && compressionSuffix.test(tag.slice(start.length)));
  });
}
