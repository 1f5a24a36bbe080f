import { crockford_alphabet, type IdKind, idPrefixes } from "@countersign/contract";

/** Maximum difference between the order of times and of rows, mostly because of nodes' clocks. */
export const clock_slack_ms = 10 * 60_000;

/** Returns the lowest id of this time. Ids begin with their milliseconds, in ten characters. */
export function firstIdAt(kind: IdKind, time_ms: number): string {
  let text = "";
  for (let left = time_ms; text.length < 10; left = Math.floor(left / 32))
    text = crockford_alphabet.charAt(left % 32) + text;
  return idPrefixes[kind] + text;
}

/** Returns the time of an id. Null: not our format. */
export function idTime_ms(id: string): number | null {
  const text = /_([0-9A-HJKMNP-TV-Z]{10})/.exec(id)?.[1];
  if (text === undefined) return null;
  let time_ms = 0;
  for (const digit of text) time_ms = time_ms * 32 + crockford_alphabet.indexOf(digit);
  return time_ms;
}
