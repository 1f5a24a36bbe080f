import { parseTimestampUs } from "@countersign/core";

/**
 * The moment of a date-time that was checked already, for a search in what is stored: nothing was stored before 1970, nor
 * is before 2255, so moments outside of that are its ends. Beyond them microseconds are no whole numbers any more, and
 * PostgreSQL takes neither year 0, nor year 10000, nor offsets beyond 15:59.
 */
export function storableUs(text: string): number {
  return Math.min(Math.max(parseTimestampUs(text) ?? 0, 0), Number.MAX_SAFE_INTEGER);
}
