import { formatTimestampUs, parseTimestampUs } from "@countersign/core";

/**
 * The moment of a date-time that was checked already, for a search in what is stored: nothing was stored before 1970, nor
 * is before 2255, so moments outside of that are its ends. Beyond them microseconds are no whole numbers any more, and
 * PostgreSQL takes neither year 0, nor year 10000, nor offsets beyond 15:59.
 */
export function storableUs(text: string): number {
  return Math.min(Math.max(parseTimestampUs(text) ?? 0, 0), Number.MAX_SAFE_INTEGER);
}

/** The same as a filter of what is stored takes it: RFC 3339; undefined stays undefined. */
export function storableTime(text: string | undefined): string | undefined {
  return text === undefined ? undefined : formatTimestampUs(storableUs(text));
}
