import { crockford_alphabet, type IdKind, idPrefixes } from "@countersign/contract";

/**
 * How far times and the order of rows may be apart: those of an id and its row, or of rows written by two nodes one after
 * another. Commits are quicker by far; the rest is for nodes' clocks.
 */
export const clock_slack_ms = 10 * 60_000;

/** The least text that an id of this moment has: ids begin with the milliseconds of their time, in ten characters. */
export function firstIdAt(kind: IdKind, time_ms: number): string {
  let text = "";
  for (let left = time_ms; text.length < 10; left = Math.floor(left / 32))
    text = crockford_alphabet.charAt(left % 32) + text;
  return idPrefixes[kind] + text;
}

/** The moment that an id begins with; null where it is none of ours. */
export function idTime_ms(id: string): number | null {
  const text = /_([0-9A-HJKMNP-TV-Z]{10})/.exec(id)?.[1];
  if (text === undefined) return null;
  let time_ms = 0;
  for (const digit of text) time_ms = time_ms * 32 + crockford_alphabet.indexOf(digit);
  return time_ms;
}
