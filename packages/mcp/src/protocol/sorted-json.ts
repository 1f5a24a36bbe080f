import { isObject } from "./messages.ts";

/** Returns JSON that does not depend on the order of names. Throws `RangeError` for a value nested too deep. */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
