/**
 * In lower case and one spelling, whatever the keyboard: full-width letters, and accents that are sent apart, are the plain
 * ones. Not NFKC: that would make the letters "TM" of a sign that is no part of a name.
 */
const plain = (text: string): string =>
  text
    .normalize("NFC")
    .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .toLowerCase();

/** A word for comparing: lower case, letters and digits only (any script). */
export const squash = (text: string): string => plain(text).replace(/[^\p{L}\p{N}]+/gu, "");

/** A phrase for comparing: lower case, every run of other characters one space, trimmed. */
export const phrase = (text: string): string =>
  plain(text)
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();

/** Whether a value is a plain record: not null, not a list, not an instance of a class (such as a marker for stale facts). */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/**
 * The own property at a path, or undefined. Facts may carry keys such as `constructor`: inherited ones are never read.
 */
export const at = (value: unknown, ...path: readonly string[]): unknown => {
  let here = value;
  for (const key of path) {
    if (!isRecord(here) || !Object.hasOwn(here, key)) return undefined;
    here = here[key];
  }
  return here;
};

/** Whether a fact was given at all: null counts as missing. */
export const given = (value: unknown): boolean => value !== undefined && value !== null;
