/**
 * Returns a body as JSON. Throws a TypeError for values that JSON would change silently (NaN becomes null, a Map {}).
 * Also throws for whole numbers that JavaScript may have rounded when it read them. Otherwise the decision would be
 * about another action than the proposed one. Undefined members are omitted. Objects with `toJSON`, such as a Date, are
 * written with it.
 */
export function bodyText(body: unknown): string {
  return JSON.stringify(body, refuseLost);
}

/** Called by JSON.stringify: `this` holds the value under that name. */
function refuseLost(this: unknown, name: string, value: unknown): unknown {
  const lost = lostAs(value, Array.isArray(this));
  if (lost === null && !isRounded(value)) return value;
  if (lost === null) throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${value}, ${rounded}`);
  throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${lost}, which JSON cannot write`);
}

const rounded = "a whole number whose last digits JavaScript may have lost. Send it as a text";

/**
 * Returns true if the number may be the rounded form of a longer whole number. From 10^21 on only numbers with 16
 * digits or more count, such as 1.2345678901234568e+21. Longer numbers are seldom read as 1e21 or 1.5e300, which
 * callers usually intend.
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
