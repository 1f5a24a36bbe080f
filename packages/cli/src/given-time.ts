import { CommandFailed } from "./command-failed.ts";

/** Returns the time of an option as RFC 3339. A date means 00:00 UTC. */
export async function givenTime(option: string, text: string): Promise<string> {
  const { parseTimestampUs } = await import("@countersign/core");
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  if (parseTimestampUs(whole) === null)
    throw new CommandFailed(`${option} takes a time like 2026-01-31T10:00:00Z or a date like 2026-01-31, not ${text}`);
  return whole;
}
