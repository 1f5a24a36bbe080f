import { RE2JS } from "re2js";

/**
 * Compiled patterns by source, newest last; bounded, since a pattern may come from a fact, and above what the policies of a
 * service have: with more in use in turns, each is compiled anew each time (0.1 ms, ten times a match). One is 6 to 27 KB,
 * the largest 17 MB: an instruction takes 165 bytes.
 */
const known = new Map<string, RE2JS | null>();
const known_max = 1_000;
const instructions_max = 300_000;
let instructions = 0;

/**
 * Larger ones are not compiled. Of one pattern, and of all that are written in one expression or policy: of those each within
 * the bound 16 KB took 32 s to check. What the bound lets through takes at most 0.3 s.
 */
export const pattern_work_max = 100_000;

/** A class by name (`\pL`), and as many characters in ranges as are looked up in the time of one that is written out. */
const named_class = 200;
const folded_each = 15;

/** The last character that has another case: RE2 looks up none beyond it. */
const folded_last = 0x1e943;

/**
 * About what compiling a pattern takes, in instructions that RE2 makes of it. It writes counted repetitions out: three hundred
 * times `(a?){1000}`, 3,000 characters, took 11 s. And without case it looks up the other cases of all that a range spans:
 * 16 KB of ranges to U+FFFF took 13 s.
 */
export function patternWork(source: string): number {
  const named = source.match(/\\p/gi)?.length ?? 0;
  const folded = /\(\?[a-zA-Z]*i/.test(source) ? spanned(source) : 0;
  return writtenOut(source) + named * named_class + folded / folded_each;
}

/** By every dash with what stands around it, be it a range or not: nothing before a range can keep it from being seen. */
function spanned(source: string): number {
  let characters = 0;
  for (const [, from = "", to = ""] of source.matchAll(/(?<=(\\x\{[0-9a-f]+\}|.))-(?=(\\x\{[0-9a-f]+\}|.))/gisu))
    characters += Math.max(0, Math.min(codeOf(to), folded_last) - codeOf(from));
  return characters;
}

/** Of a character, or of its number between `\x{` and `}`. */
function codeOf(character: string): number {
  return character.length > 2 ? Number.parseInt(character.slice(3), 16) : (character.codePointAt(0) ?? 0);
}

/** What RE2 reads as one: quoted text or flags, an escape, a class, a count, a character. */
const tokenPattern =
  /(\\Q.*?(?:\\E|$)|\(\?[a-zA-Z-]+\))|\\[pPx]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d{1,9})(?:,(\d{0,9}))?\}|./gsu;

/** The instructions of a pattern that RE2 accepts, seldom too few: a count is for what stands before it and all counts inside. */
function writtenOut(source: string): number {
  /** Of each group that is open, what stands before it. */
  const outer: number[] = [];
  let before = 0;
  let last = 0;
  for (const [token, aside, least, most] of source.matchAll(tokenPattern)) {
    if (least !== undefined) last = (last + 1) * Math.max(1, Number(least), Number(most ?? 0));
    // A count that follows may be for what stands before these.
    else if (aside !== undefined) last += aside.length;
    else if (token === "*" || token === "+" || token === "?") last += 1;
    else if (token === ")") {
      last += before + 2;
      before = outer.pop() ?? 0;
    } else if (token === "(") {
      outer.push(before + last);
      before = 0;
      last = 0;
    } else {
      before += last;
      last = 1;
    }
  }
  return outer.reduce((sum, each) => sum + each, before + last);
}

/** The compiled RE2 pattern (linear time for every input), or null when it is no pattern. */
export function pattern(source: string): RE2JS | null {
  const found = known.get(source);
  if (found !== undefined) return found;
  let compiled: RE2JS | null;
  try {
    compiled = source.length > pattern_max || patternWork(source) > pattern_work_max ? null : RE2JS.compile(source);
  } catch {
    // RE2JS throws for anything that is not RE2 syntax, or too large a repetition.
    compiled = null;
  }
  instructions += compiled?.programSize() ?? 0;
  for (const [oldest, program] of known) {
    if (known.size < known_max && instructions <= instructions_max) break;
    instructions -= program?.programSize() ?? 0;
    known.delete(oldest);
  }
  known.set(source, compiled);
  return compiled;
}

/** Longest pattern that is matched. */
export const pattern_max = 1_000;

/** What compiling and matching cost: the first goes with the size of the program, the second with that times the text. */
export function matchCost(compiled: RE2JS, text: string): number {
  const size = compiled.programSize();
  return 8 + (size >> 1) + ((text.length * Math.min(size, 64)) >> 4);
}
