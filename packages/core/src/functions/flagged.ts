import { phrase } from "./text.ts";

/** Whole phrases by which a flag is written down as not set. */
const UNSET = new Set(["", "false", "no", "none", "off", "0", "n a", "na", "null"]);

/**
 * Whether a flag of an action is set, by whatever is not false or a way of writing that: agents send "true", "Yes" and 1
 * for true. It is asked of flags that make a rule apply, where a value that cannot be read must not let an action pass; a
 * flag that excuses something has to be true itself. Source: policies.md §3 rule 3.
 */
export const flagged = (value: unknown): boolean =>
  value !== false && value !== 0 && !(typeof value === "string" && UNSET.has(phrase(value)));
