import { formatTimestampUs, parseTimestampUs } from "@countersign/core";

/**
 * Returns the microseconds of a valid date-time, clamped to 1970 to 2255. Beyond, microseconds are no safe integers,
 * and PostgreSQL refuses some dates.
 */
export function storableUs(text: string): number {
  return Math.min(Math.max(parseTimestampUs(text) ?? 0, 0), Number.MAX_SAFE_INTEGER);
}

export function storableTime(text: string | undefined): string | undefined {
  return text === undefined ? undefined : formatTimestampUs(storableUs(text));
}
