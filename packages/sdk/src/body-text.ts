/**
 * A body as JSON. Throws a TypeError for what JSON would change without a word (NaN becomes null, a Map {}), and for whole numbers
 * that JavaScript may have rounded when it read them: an action would be decided on that nobody proposed. Members that are
 * undefined are left out; what writes itself, as a Date, does.
 */
export function bodyText(body: unknown): string {
  return JSON.stringify(body, refuseLost);
}

/** As JSON.stringify calls it: `this` holds the value under that name. */
function refuseLost(this: unknown, name: string, value: unknown): unknown {
  const lost = lostAs(value, Array.isArray(this));
  if (lost === null && !isRounded(value)) return value;
  if (lost === null) throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${value}, ${rounded}`);
  throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${lost}, which JSON cannot write`);
}

const rounded = "a whole number whose last digits JavaScript may have lost. Send it as a text";

/**
 * Whether a longer whole number may have been read as this one. From 10^21 on only those with 16 digits or
 * more count, such as 1.2345678901234568e+21: seldom is a longer number read as 1e21 or 1.5e300, which callers mean as they are.
 */
function isRounded(value: unknown): boolean {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return false;
  if (Math.abs(value as number) < 1e21) return true;
  return String(value).replace(/e.*$/, "").replace(/[-.]/g, "").length >= 16;
}

function lostAs(value: unknown, in_array: boolean): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : String(value);
  if (value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`;
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return `a ${typeof value}`;
  return value === undefined && in_array ? "undefined" : null;
}
