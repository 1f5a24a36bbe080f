import { crockfordAlphabet, type IdKind, idPrefixes } from "@countersign/contract";

/** The least text that an id of this moment has: ids begin with the milliseconds of their time, in ten characters. */
export function firstIdAt(kind: IdKind, time_ms: number): string {
  let text = "";
  for (let left = time_ms; text.length < 10; left = Math.floor(left / 32))
    text = crockfordAlphabet.charAt(left % 32) + text;
  return idPrefixes[kind] + text;
}
