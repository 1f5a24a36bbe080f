import { phrase } from "./text.ts";

/** Whole phrases that mean that a flag is not set. */
const UNSET = new Set(["", "false", "no", "none", "off", "0", "n a", "na", "null"]);

/**
 * Returns true if a flag of an action is set: any value that does not mean false. Agents send "true", "Yes" and 1 for
 * true. Used for flags that make a rule apply, where an unreadable value must not let an action pass. A flag that
 * excuses something must be true itself.
 */
export const flagged = (value: unknown): boolean =>
  value !== false && value !== 0 && !(typeof value === "string" && UNSET.has(phrase(value)));
