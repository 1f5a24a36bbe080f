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

/** Whether other whole numbers are read as this one. From 10^21 on a number is written with an exponent, which shows that. */
function isRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) < 1e21;
}

function lostAs(value: unknown, in_array: boolean): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : String(value);
  if (value instanceof Map || value instanceof Set) return `a ${value.constructor.name}`;
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") return `a ${typeof value}`;
  return value === undefined && in_array ? "undefined" : null;
}
