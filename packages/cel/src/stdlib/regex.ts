import { RE2JS } from "re2js";

/**
 * Newest last. Bounded, because a pattern may come from a fact. Must exceed the patterns in a service's policies: a
 * miss costs 0.1 ms, ten times a match. A pattern takes 6 to 27 KB, at most 17 MB.
 */
const known = new Map<string, RE2JS | null>();
const known_max = 1_000;
const instructions_max = 300_000;
let instructions = 0;

/**
 * For one pattern, and for all patterns of one expression or policy: 0.3 s of compiling. Without the second limit, 16
 * KB of patterns took 32 s.
 */
export const pattern_work_max = 100_000;

/** Work of a named class (`\pL`). */
const named_class = 200;
const folded_each = 15;

const folded_last = 0x1e943;

/**
 * Estimates the work to compile a pattern, in RE2 instructions. RE2 unrolls counted repetitions: 300 times `(a?){1000}`
 * took 11 s. Without case, RE2 looks up every character of a range: 16 KB of ranges took 13 s.
 */
export function patternWork(source: string): number {
  const named = source.match(/\\p/gi)?.length ?? 0;
  const folded = /\(\?[a-zA-Z]*i/.test(source) ? spanned(source) : 0;
  return writtenOut(source) + named * named_class + folded / folded_each;
}

/** Sums over every dash, so that no prefix can hide a range. */
function spanned(source: string): number {
  let characters = 0;
  for (const [, from = "", to = ""] of source.matchAll(/(?<=(\\x\{[0-9a-f]+\}|.))-(?=(\\x\{[0-9a-f]+\}|.))/gisu))
    characters += Math.max(0, Math.min(codeOf(to), folded_last) - codeOf(from));
  return characters;
}

function codeOf(character: string): number {
  return character.length > 2 ? Number.parseInt(character.slice(3), 16) : (character.codePointAt(0) ?? 0);
}

/** RE2's tokens: quoted text or flags, an escape, a class, a count, a character. */
const tokenPattern =
  /(\\Q.*?(?:\\E|$)|\(\?[a-zA-Z-]+\))|\\[pPx]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d{1,9})(?:,(\d{0,9}))?\}|./gsu;

/** Estimates RE2 instructions, rarely too low. A count multiplies the preceding item and all counts inside it. */
function writtenOut(source: string): number {
  const outer: number[] = [];
  let before = 0;
  let last = 0;
  for (const [token, aside, least, most] of source.matchAll(tokenPattern)) {
    if (least !== undefined) last = (last + 1) * Math.max(1, Number(least), Number(most ?? 0));
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

/** Matches in linear time. Returns null for an invalid pattern. */
export function pattern(source: string): RE2JS | null {
  const found = known.get(source);
  if (found !== undefined) return found;
  let compiled: RE2JS | null;
  try {
    compiled = source.length > pattern_max || patternWork(source) > pattern_work_max ? null : RE2JS.compile(source);
  } catch {
    // RE2JS throws for invalid syntax and for repetitions that are too large.
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

export const pattern_max = 1_000;

/** Compiling grows with the program, matching with program times text. */
export function matchCost(compiled: RE2JS, text: string): number {
  const size = compiled.programSize();
  return 8 + (size >> 1) + ((text.length * Math.min(size, 64)) >> 4);
}
