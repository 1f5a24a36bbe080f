import { type Unknown, unknown } from "@countersign/cel";

/** The entries of a list, or of a text that lists names with commas, semicolons or line breaks between; else undefined. */
const entriesOf = (value: unknown): readonly unknown[] | undefined => {
  if (Array.isArray(value)) return value;
  if (typeof value !== "string") return undefined;
  return value
    .split(/[,;\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
};

const NAMES = new Set(["string", "number", "bigint", "boolean"]);

/**
 * Whether every entry of the first stands in the second. Both may be lists or texts that list names; anything else, and
 * an entry that is no plain value, is not a subset. The empty list is a subset of every list; no entry is a wildcard.
 * Source: policies.md §5.
 */
export const subset = (inner: unknown, outer: unknown): boolean => {
  const [wanted, allowed] = [entriesOf(inner), entriesOf(outer)];
  if (wanted === undefined || allowed === undefined) return false;
  const names = new Set(allowed);
  return wanted.every((entry) => NAMES.has(typeof entry) && names.has(entry));
};

/** The entries of the first that also stand in the second, in the first's order, each once; [] for anything unreadable. */
export const intersect = (inner: unknown, outer: unknown): unknown[] => {
  const allowed = new Set(entriesOf(outer) ?? []);
  return [...new Set(entriesOf(inner) ?? [])].filter((entry) => NAMES.has(typeof entry) && allowed.has(entry));
};

/** The entries of a list or of a text that lists names, each once; [] for anything else. */
export const entries = (value: unknown): unknown[] => [...new Set(entriesOf(value) ?? [])];

const folded = (value: unknown): unknown => (typeof value === "string" ? value.trim().toLowerCase() : value);
const isReadable = (value: unknown): boolean => value === null || value === undefined || NAMES.has(typeof value);
const unreadable = unknown("", "a name that is no text or number");

/**
 * Whether a name is the other value or stands among its entries. Capitals and spaces around it do not count: it is asked of
 * what a rule forbids, where another spelling must not get past. Nor must what cannot be read: where the name is a list or an
 * object, or one of those that it is not found among, that is unknown. Source: policies.md §3 rule 3.
 */
export const listed = (name: unknown, value: unknown): boolean | Unknown => {
  if (!isReadable(name)) return unreadable;
  const wanted = folded(name);
  const found = entriesOf(value) ?? [];
  if ([value, ...found].some((entry) => NAMES.has(typeof entry) && folded(entry) === wanted)) return true;
  return found.every(isReadable) && (Array.isArray(value) || isReadable(value)) ? false : unreadable;
};
