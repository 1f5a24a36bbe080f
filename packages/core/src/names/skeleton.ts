/**
 * Names with the same skeleton differ only in look-alike letters (UTS 39), case, accents, or separators
 * (docs/decisions/0042).
 */
import { foldName } from "@countersign/contract";
import confusables from "unhomoglyph/data.json" with { type: "json" };

export interface Cell {
  readonly text: string;
  /** Empty for a separator. */
  readonly letters: string;
  /** A sign that looks like a letter, such as `|`. May also separate words. */
  readonly is_sign: boolean;
}

/** Ignored characters: separators, and accents of Latin, Greek and Cyrillic. */
const unread = /[^\p{L}\p{M}\p{N}]|[\u0300-\u036f]|\p{Default_Ignorable_Code_Point}/gu;
const sign = /^[^\p{L}\p{M}\p{N}]$/u;
const ascii = /^[\0-\x7f]*$/;

/** Returns two skeletons if the name has signs that look like letters. Empty for a name of separators. */
export function skeletonsOf(name: string): readonly string[] {
  if (ascii.test(name) && !name.includes("|")) return [merged(name.toLowerCase().replaceAll(/[^a-z0-9]+/g, ""))];
  const cells = cellsOf(name);
  const as_letters = cells.map(({ letters }) => letters).join("");
  const as_separators = cells.map(({ letters, is_sign }) => (is_sign ? "" : letters)).join("");
  return as_letters === as_separators ? [as_letters] : [as_letters, as_separators];
}

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
  if (cells.size >= cached_max) cells.clear();
  cells.set(text, cell);
  return cell;
}

const prototypes: ReadonlyMap<string, string> = new Map(Object.entries(confusables));

/** Case is ignored, so the upper case counts if only that looks like ASCII. */
function prototypeOf(char: string): string {
  const own = prototypes.get(char) ?? char;
  if (isPlain(own)) return own;
  const upper = char.toUpperCase();
  const of_upper = prototypes.get(upper) ?? upper;
  if (isPlain(of_upper)) return of_upper;
  const lower = char.toLowerCase();
  return prototypes.get(lower) ?? lower;
}

/** Returns true for ASCII, with or without accents. */
function isPlain(text: string): boolean {
  return /^(?:[\0-\x7f]|[\u0300-\u036f])*$/.test(text);
}

/** Merges characters that look alike in one of their cases. */
function merged(letters: string): string {
  return letters.replaceAll(/[i1|]/g, "l").replaceAll("0", "o").replaceAll("m", "rn");
}

/**
 * Returns true for equal letters with other numbers: `bot-1-23` and `bot-12-3`, or two IP addresses. Such names are
 * different.
 */
export function areOtherNumbers(one: string, other: string): boolean {
  const [a, b] = [foldName(one), foldName(other)];
  const letters = (name: string): string => name.replaceAll(unread, "");
  const numbers = (name: string): string => (name.match(/\p{Nd}+/gu) ?? []).join();
  return letters(a) === letters(b) && numbers(a) !== numbers(b);
}

export type PartPlace = "start" | "end" | "anywhere";

/**
 * Returns the name with `part` in place of its look-alike, or null if there is none. After a part that ends with a
 * separator, the name must have a separator or a capital letter: `sender` does not match `send_`.
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

/** Returns where the characters with this skeleton end, or null. */
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

/** Returns the end of the part, after separators if it ends with one. */
function endOf(cells: readonly Cell[], end: number, separates: boolean): number | null {
  if (!separates) return end;
  let to = end;
  while (to < cells.length && cells[to]?.letters === "") to += 1;
  return to > end || isCapital(cells, end) ? to : null;
}

/** Returns the begin of the part, before separators if it begins with one. */
function beginOf(cells: readonly Cell[], start: number, separates: boolean): number | null {
  if (!separates) return start;
  let from = start;
  while (from > 0 && cells[from - 1]?.letters === "") from -= 1;
  return from < start || isCapital(cells, start) ? from : null;
}

/** Returns true if a capital begins a word, as in `sendMoney`. */
function isCapital(cells: readonly Cell[], at: number): boolean {
  return /\p{Ll}/u.test(cells[at - 1]?.text ?? "") && /\p{Lu}/u.test(cells[at]?.text ?? "");
}
