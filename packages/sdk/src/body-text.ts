/**
 * Returns a body as JSON. Throws a TypeError for values that JSON would change (NaN, a Map) and for whole numbers that
 * JavaScript may have rounded. Otherwise the decision would be about another action. Omits undefined members. Uses
 * `toJSON`, as of a Date.
 */
export function bodyText(body: unknown): string {
  return JSON.stringify(body, refuseLost);
}

/** Called by JSON.stringify with the holder of the value as `this`. */
function refuseLost(this: unknown, name: string, value: unknown): unknown {
  const lost = lostAs(value, Array.isArray(this));
  if (lost === null && !isRounded(value)) return value;
  if (lost === null) throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${value}, ${rounded}`);
  throw new TypeError(`nothing was sent: ${JSON.stringify(name)} is ${lost}, which JSON cannot write`);
}

const rounded = "a whole number whose last digits JavaScript may have lost. Send it as a text";

/**
 * Returns true if the number may be the rounded form of a longer whole number. From 10^21 on, only numbers with 16 or
 * more digits count, because callers usually intend 1e21 or 1.5e300.
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
