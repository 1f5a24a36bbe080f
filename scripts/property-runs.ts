/**
 * Sets how many cases a property test, a fuzz test or a simulation tries. Each test names its full count. `RUNS_SHARE`
 * is the share that runs: 0.1 by default, 1 in `npm run test:nightly`.
 */
import fc from "fast-check";

const share = Number(process.env["RUNS_SHARE"] ?? "0.1");
if (!(share > 0 && share <= 1)) throw new Error("RUNS_SHARE must be a number greater than 0 and at most 1");

/** Returns this run's share of the full count, at least 1. */
export function runs(full: number): number {
  return Math.max(1, Math.round(full * share));
}

/** Returns half as many as `runs`, but all at a share of 1. For slow cases, such as simulated worlds. */
export function fewRuns(full: number): number {
  return share === 1 ? full : runs(full / 2);
}

/** Returns this run's share of `all`, at least one entry, evenly spread. */
export function sampleOf<T>(all: readonly T[]): T[] {
  const count = Math.min(all.length, runs(all.length));
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)] as T);
}

/**
 * Any character, as the unit of `fc.string`: all code points except lone surrogates. fast-check's own unit "binary"
 * gives the same, but its first use takes more than a second of processor time.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
