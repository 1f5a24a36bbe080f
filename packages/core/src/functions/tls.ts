const spelling = /^(?:tls)?[\s_-]*v?[\s_.-]*1(?:[._-]?([0-3]))?$/i;
const KNOWN = new Set([1, 1.1, 1.2, 1.3]);

/**
 * Returns the version of 1, 1.1, 1.2, 1.3, "tls_1_3", "TLSv1.2", "TLS 1.2". SSL and other values are 0, so `tls(x) >=
 * 1.2` is safe.
 */
export const tls = (value: unknown): number => {
  if (typeof value === "bigint") return value === 1n ? 1 : 0;
  if (typeof value === "number") return KNOWN.has(value) ? value : 0;
  if (typeof value !== "string" || value.length > 32) return 0;
  const match = spelling.exec(value.trim());
  return match === null ? 0 : Number(`1.${match[1] ?? "0"}`);
};
