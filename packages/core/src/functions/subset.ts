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

/**
 * Whether a name is the other value or stands among its entries. Capitals and spaces around it do not count: it is asked of
 * what a rule forbids, where another spelling must not get past.
 */
export const listed = (name: unknown, value: unknown): boolean => {
  const wanted = folded(name);
  return NAMES.has(typeof wanted) && [value, ...(entriesOf(value) ?? [])].some((entry) => folded(entry) === wanted);
};
