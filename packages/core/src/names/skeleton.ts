/**
 * Skeletons of names, by Unicode's table of confusable characters (UTS 39). Names with the same skeleton differ only in letters
 * that look alike, in case, in accents, or in separators (docs/decisions/0042).
 */
import { foldName } from "@countersign/contract";
import confusables from "unhomoglyph/data.json" with { type: "json" };

/** A character of a name. */
export interface Cell {
  readonly text: string;
  /** The part of the skeleton that the character gives; empty for a separator. */
  readonly letters: string;
  /** Whether it is a sign that looks like a letter, such as `|`. It may separate words, too. */
  readonly is_sign: boolean;
}

/** Everything but letters, accents and numbers separates words. Accents of Latin, Greek and Cyrillic do not count. */
const unread = /[^\p{L}\p{M}\p{N}]|[\u0300-\u036f]|\p{Default_Ignorable_Code_Point}/gu;
const sign = /^[^\p{L}\p{M}\p{N}]$/u;
const ascii = /^[\0-\x7f]*$/;

/** Returns the skeletons of a name: one, or two if it has signs that look like letters. A name of separators has an empty one. */
export function skeletonsOf(name: string): readonly string[] {
  if (ascii.test(name) && !name.includes("|")) return [merged(name.toLowerCase().replaceAll(/[^a-z0-9]+/g, ""))];
  const cells = cellsOf(name);
  const as_letters = cells.map(({ letters }) => letters).join("");
  const as_separators = cells.map(({ letters, is_sign }) => (is_sign ? "" : letters)).join("");
  return as_letters === as_separators ? [as_letters] : [as_letters, as_separators];
}

/** Returns the characters of a name. */
export function cellsOf(name: string): readonly Cell[] {
  return Array.from(name, cellOf);
}

const cached_max = 4_096;
const cells = new Map<string, Cell>();

function cellOf(text: string): Cell {
  const known = cells.get(text);
  if (known !== undefined) return known;
  const prototypes = Array.from(text.normalize("NFKD"), prototypeOf).join("").normalize("NFKD");
  const letters = merged(prototypes.toLowerCase().replaceAll(unread, ""));
  const cell = { text, letters, is_sign: sign.test(text) && letters !== "" };
  // Callers choose the characters, so the cache is cleared when it is full.
  if (cells.size >= cached_max) cells.clear();
  cells.set(text, cell);
  return cell;
}

/** The character that each confusable character looks like. */
const prototypes: ReadonlyMap<string, string> = new Map(Object.entries(confusables));

/** Returns what a character looks like. Names are compared without case, so the upper case counts if only that looks like ASCII. */
function prototypeOf(char: string): string {
  const own = prototypes.get(char) ?? char;
  if (isPlain(own)) return own;
  const upper = char.toUpperCase();
  const of_upper = prototypes.get(upper) ?? upper;
  if (isPlain(of_upper)) return of_upper;
  const lower = char.toLowerCase();
  return prototypes.get(lower) ?? lower;
}

/** Whether a text is in ASCII, perhaps with accents. */
function isPlain(text: string): boolean {
  return /^(?:[\0-\x7f]|[\u0300-\u036f])*$/.test(text);
}

/** Makes one of the letters and digits of ASCII that look alike in one of their cases. */
function merged(letters: string): string {
  return letters.replaceAll(/[i1|]/g, "l").replaceAll("0", "o").replaceAll("m", "rn");
}

/**
 * Whether two names have the same letters and other numbers, such as `bot-1-23` and `bot-12-3`, or two IP addresses. Then they are
 * two names, although they differ only in separators.
 */
export function areOtherNumbers(one: string, other: string): boolean {
  const [a, b] = [foldName(one), foldName(other)];
  const letters = (name: string): string => name.replaceAll(unread, "");
  const numbers = (name: string): string => (name.match(/\p{Nd}+/gu) ?? []).join();
  return letters(a) === letters(b) && numbers(a) !== numbers(b);
}

/** The place of a text in a name. */
export type PartPlace = "start" | "end" | "anywhere";

/**
 * Returns the name of these characters with `part` in place of what only looks like it; null if there is nothing like that at this
 * place. If a part ends with a separator, the name must have one there, too, or go on with a capital letter: `sender` is nothing
 * like `send_`.
 */
export function withPart(cells: readonly Cell[], part: string, place: PartPlace): string | null {
  const skeleton = skeletonsOf(part)[0] ?? "";
  if (skeleton === "") return null;
  const separates = cellsOf(part).map(({ letters }) => letters === "");
  for (let start = 0; start < cells.length; start += 1) {
    if (cells[start]?.letters === "") continue;
    const end = endOfLetters(cells, start, skeleton);
    if (end !== null) {
      const from = place === "start" ? 0 : beginOf(cells, start, separates[0] === true);
      const to = place === "end" ? cells.length : endOf(cells, end, separates.at(-1) === true);
      const is_last = place !== "end" || cells.slice(end).every((cell) => cell.letters === "");
      if (is_last && from !== null && to !== null) return textOf(cells.slice(0, from)) + part + textOf(cells.slice(to));
    }
    if (place === "start") return null;
  }
  return null;
}

/** Returns the end of the characters from `start` on that have this skeleton; null if there are none. */
function endOfLetters(cells: readonly Cell[], start: number, skeleton: string): number | null {
  let length = 0;
  for (let end = start; end < cells.length; end += 1) {
    const letters = cells[end]?.letters ?? "";
    if (!skeleton.startsWith(letters, length)) return null;
    length += letters.length;
    if (length === skeleton.length) return end + 1;
  }
  return null;
}

function textOf(cells: readonly Cell[]): string {
  return cells.map(({ text }) => text).join("");
}

/** Returns the end of a part whose letters end at `end`: behind the separators there, if it ends with one. */
function endOf(cells: readonly Cell[], end: number, separates: boolean): number | null {
  if (!separates) return end;
  let to = end;
  while (to < cells.length && cells[to]?.letters === "") to += 1;
  return to > end || isCapital(cells, end) ? to : null;
}

/** Returns the begin of a part whose letters begin at `start`: before the separators there, if it begins with one. */
function beginOf(cells: readonly Cell[], start: number, separates: boolean): number | null {
  if (!separates) return start;
  let from = start;
  while (from > 0 && cells[from - 1]?.letters === "") from -= 1;
  return from < start || isCapital(cells, start) ? from : null;
}

/** Whether a word begins here as in `sendMoney`. */
function isCapital(cells: readonly Cell[], at: number): boolean {
  return /\p{Ll}/u.test(cells[at - 1]?.text ?? "") && /\p{Lu}/u.test(cells[at]?.text ?? "");
}
