import { type Unknown, unknown } from "@countersign/cel";

/** Returns the entries of a list, or of a text with commas, semicolons or line breaks. Undefined for other values. */
const entriesOf = (value: unknown): readonly unknown[] | undefined => {
  if (Array.isArray(value)) return value;
  if (typeof value !== "string") return undefined;
  return value
    .split(/[,;\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
};

const NAMES = new Set(["string", "number", "bigint", "boolean"]);

/** Accepts lists, and texts that list names. False for other values. There are no wildcards. */
export const subset = (inner: unknown, outer: unknown): boolean => {
  const [wanted, allowed] = [entriesOf(inner), entriesOf(outer)];
  if (wanted === undefined || allowed === undefined) return false;
  const names = new Set(allowed);
  return wanted.every((entry) => NAMES.has(typeof entry) && names.has(entry));
};

/** Returns entries in the first's order, without duplicates. [] for an unreadable value. */
export const intersect = (inner: unknown, outer: unknown): unknown[] => {
  const allowed = new Set(entriesOf(outer) ?? []);
  return [...new Set(entriesOf(inner) ?? [])].filter((entry) => NAMES.has(typeof entry) && allowed.has(entry));
};

/** Returns [] for a value that is neither a list nor a text. */
export const entries = (value: unknown): unknown[] => [...new Set(entriesOf(value) ?? [])];

const folded = (value: unknown): unknown => (typeof value === "string" ? value.trim().toLowerCase() : value);
const isReadable = (value: unknown): boolean => value === null || value === undefined || NAMES.has(typeof value);
const unreadable = unknown("", "a name that is neither a text nor a number");

/**
 * Returns true if a name is the other value or one of its entries. Rules forbid names with this, so case and
 * surrounding spaces are ignored. Unknown if the name is a list or an object, or if an entry is one and no other
 * matches.
 */
export const listed = (name: unknown, value: unknown): boolean | Unknown => {
  if (!isReadable(name)) return unreadable;
  const wanted = folded(name);
  const found = entriesOf(value) ?? [];
  if ([value, ...found].some((entry) => NAMES.has(typeof entry) && folded(entry) === wanted)) return true;
  return found.every(isReadable) && (Array.isArray(value) || isReadable(value)) ? false : unreadable;
};
