import { RE2JS } from "re2js";

/**
 * Compiled patterns by source, newest last; bounded, since a pattern may come from a fact, and above what the policies of a
 * service have: with more in use in turns, each is compiled anew each time (0.1 ms, ten times a match). One is 6 to 27 KB,
 * the largest that a fact can hold 0.2 MB.
 */
const known = new Map<string, RE2JS | null>();
const KNOWN_MAX = 1_000;

/**
 * How many characters the counted repetitions of a pattern may make of it, by a rough bound. RE2 writes a repetition out:
 * three hundred times `(a?){1000}`, 3,000 characters, took 11 s to compile; what the bound lets through at most 0.3 s.
 */
const WRITTEN_OUT_MAX = 100_000;

/**
 * How many characters the ranges of a pattern without case may span. RE2 looks up the other cases of each of them: 16 KB of
 * ranges to U+FFFF took 13 s to compile, what the bound lets through some 0.1 s. A class by name (`\pL`) is taken for 3,000.
 */
const FOLDED_MAX = 1_500_000;
const NAMED_CLASS = 3_000;

/** True for patterns that would take too long to compile, by their counted repetitions or their ranges: they never are. */
export function isTooMuch(source: string): boolean {
  return repeatsTooMuch(source) || (/\(\?[a-zA-Z]*i/.test(source) && foldsTooMuch(source));
}

function foldsTooMuch(source: string): boolean {
  let characters = (source.match(/\\p/gi)?.length ?? 0) * NAMED_CLASS;
  for (const [, from = "", to = ""] of source.matchAll(/(\\x\{[0-9a-f]+\}|.)-(\\x\{[0-9a-f]+\}|.)/giu))
    characters += Math.max(0, codeOf(to) - codeOf(from));
  return characters > FOLDED_MAX;
}

/** Of a character, or of its number between `\x{` and `}`. */
function codeOf(character: string): number {
  return character.length > 2 ? Number.parseInt(character.slice(3), 16) : (character.codePointAt(0) ?? 0);
}

function repeatsTooMuch(source: string): boolean {
  let counts = 0;
  for (const [, least, most] of source.matchAll(/\{(\d{1,9})(?:,(\d{0,9}))?\}/g))
    counts += Math.max(Number(least), Number(most ?? 0));
  return source.length * counts > WRITTEN_OUT_MAX;
}

/** The compiled RE2 pattern (linear time for every input), or null when it is no pattern. */
export function pattern(source: string): RE2JS | null {
  const found = known.get(source);
  if (found !== undefined) return found;
  let compiled: RE2JS | null;
  try {
    compiled = isTooMuch(source) ? null : RE2JS.compile(source);
  } catch {
    // RE2JS throws for anything that is not RE2 syntax, or too large a repetition.
    compiled = null;
  }
  if (known.size >= KNOWN_MAX) known.delete(known.keys().next().value as string);
  known.set(source, compiled);
  return compiled;
}

/** Longest pattern that is compiled at run time. */
export const PATTERN_MAX = 1_000;

/** What compiling and matching cost: the first goes with the size of the program, the second with that times the text. */
export function matchCost(compiled: RE2JS, text: string): number {
  const size = compiled.programSize();
  return 8 + (size >> 1) + ((text.length * Math.min(size, 64)) >> 4);
}
