import { formatTimestampUs, parseTimestampUs } from "@countersign/core";

/**
 * Returns the microseconds of a valid date-time for a search in stored rows, clamped to the years 1970 to 2255, because no
 * row is outside of them. Beyond that, microseconds are no safe integers, and PostgreSQL refuses year 0, year 10000 and
 * offsets above 15:59.
 */
export function storableUs(text: string): number {
  return Math.min(Math.max(parseTimestampUs(text) ?? 0, 0), Number.MAX_SAFE_INTEGER);
}

/** Returns the same moment as RFC 3339 text for a filter; undefined stays undefined. */
export function storableTime(text: string | undefined): string | undefined {
  return text === undefined ? undefined : formatTimestampUs(storableUs(text));
}
