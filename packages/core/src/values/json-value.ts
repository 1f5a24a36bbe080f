import { Duration, Timestamp } from "@countersign/cel";

/**
 * Returns a value of an expression as JSON. Undefined for a number that is not finite, bytes, a map with keys other
 * than texts, or a text with NUL, which PostgreSQL refuses.
 */
export function jsonValue(value: unknown): unknown {
  switch (typeof value) {
    case "string":
      return value.includes("\0") ? undefined : value;
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : undefined;
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (value instanceof Timestamp || value instanceof Duration) return value.toString();
  if (Array.isArray(value)) return everyDefined(value.map(jsonValue));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  const record: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) {
    const json = name === "__proto__" || name.includes("\0") ? undefined : jsonValue(field);
    if (json === undefined) return undefined;
    record[name] = json;
  }
  return record;
}

function everyDefined(values: readonly unknown[]): unknown {
  return values.includes(undefined) ? undefined : values;
}

export function isJsonLarger(value: unknown, bytes_max: number): boolean {
  return jsonRoom(value, bytes_max) < 0;
}

/** Returns `bytes_max` minus the size of the value's JSON. Stops when negative. */
export function jsonRoom(value: unknown, bytes_max: number): number {
  let left = bytes_max;
  const pending: unknown[] = [value];
  while (pending.length > 0 && left >= 0) {
    const next = pending.pop();
    if (typeof next !== "object" || next === null) {
      left -= Buffer.byteLength(JSON.stringify(next));
      continue;
    }
    const entries = Object.entries(next);
    left -= 1 + Math.max(entries.length, 1);
    for (const [name, inner] of entries) {
      if (!Array.isArray(next)) left -= Buffer.byteLength(JSON.stringify(name)) + 1;
      pending.push(inner);
    }
  }
  return left;
}
