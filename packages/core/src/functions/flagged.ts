import { phrase } from "./text.ts";

const UNSET = new Set(["", "false", "no", "none", "off", "0", "n a", "na", "null"]);

/**
 * Returns true for any value that does not mean false: "true", "Yes", 1. Only for flags that make a rule apply, never
 * for those that excuse something.
 */
export const flagged = (value: unknown): boolean =>
  value !== false && value !== 0 && !(typeof value === "string" && UNSET.has(phrase(value)));
