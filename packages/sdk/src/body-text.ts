/**
 * A body as JSON. Throws a TypeError for what JSON would change without a word (NaN becomes null, a Map {}): an action would be
 * decided on that nobody proposed. Members that are undefined are left out; what writes itself, as a Date, does.
 */
export function bodyText(body: unknown): string {
  return JSON.stringify(body, refuseLost);
}

/** As JSON.stringify calls it: `this` holds the value under that name. */
function refuseLost(this: unknown, name: string, value: unknown): unknown {
  const lost = lostAs(value, Array.isArray(this));
  if (lost === null) return value;
  throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${lost}, which JSON cannot write`);
}

function lostAs(value: unknown, in_array: boolean): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : String(value);
  if (value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`;
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return `a ${typeof value}`;
  return value === undefined && in_array ? "undefined" : null;
}
