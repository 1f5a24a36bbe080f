import { phrase } from "./text.ts";

const UNSET = new Set(["", "false", "no", "none", "off", "0", "n a", "na", "null"]);

/**
 * Returns true for any value that does not mean false: "true", "Yes", 1. For flags that make a rule apply. A flag that
 * excuses something must be `true` itself.
 */
export const flagged = (value: unknown): boolean =>
  value !== false && value !== 0 && !(typeof value === "string" && UNSET.has(phrase(value)));
