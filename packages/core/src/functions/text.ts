/**
 * Returns lower case, with full-width letters and separate accents as plain letters. NFKC would turn the sign "™" into
 * the letters "TM".
 */
const plain = (text: string): string =>
  text
    .normalize("NFC")
    .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .toLowerCase();

/** Returns a word for comparing: lower case, letters and digits of any script. */
export const squash = (text: string): string => plain(text).replace(/[^\p{L}\p{N}]+/gu, "");

/** Returns a phrase for comparing: lower case, other characters as one space, trimmed. */
export const phrase = (text: string): string =>
  plain(text)
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Returns false for class instances, such as a marker for stale facts. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Ignores inherited properties, because facts may have keys such as `constructor`. */
export const at = (value: unknown, ...path: readonly string[]): unknown => {
  let here = value;
  for (const key of path) {
    if (!isRecord(here) || !Object.hasOwn(here, key)) return undefined;
    here = here[key];
  }
  return here;
};

/** Null counts as missing. */
export const given = (value: unknown): boolean => value !== undefined && value !== null;
