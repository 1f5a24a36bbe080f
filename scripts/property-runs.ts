/**
 * Number of cases for property tests, fuzz tests and simulations. `RUNS_SHARE` is the share of the full count: 0.1 by
 * default, 1 in `npm run test:nightly`.
 */
import fc from "fast-check";

const share = Number(process.env["RUNS_SHARE"] ?? "0.1");
if (!(share > 0 && share <= 1)) throw new Error("RUNS_SHARE must be a number greater than 0 and at most 1");

/** Returns this run's share of the full count, at least 1. */
export function runs(full: number): number {
  return Math.max(1, Math.round(full * share));
}

/** Returns half of `runs`, but all at a share of 1. For slow cases. */
export function fewRuns(full: number): number {
  return share === 1 ? full : runs(full / 2);
}

/** Returns an evenly spread share of `all`, at least one entry. */
export function sampleOf<T>(all: readonly T[]): T[] {
  const count = Math.min(all.length, runs(all.length));
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)] as T);
}

/**
 * All code points except lone surrogates, for `fc.string`. fast-check's "binary" is the same but costs a second of CPU
 * time.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
