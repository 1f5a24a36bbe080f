/**
 * Numbers of cards, accounts and people as they are written for people: in groups, with dashes, in lower case. What policies
 * hide as "4111111111111111" is told as well by "4111 1111 1111 1111". Source: policies.md §3 rule 5.
 */

/** Shorter ones stand in amounts and years too often. */
const chars_min = 6;
const digits_min = 5;
/** No number that somebody is known by is longer. */
const chars_max = 100;
/** More than these between two characters part what is written. */
const between_max = 3;

/** What may stand between groups, or hide between any two characters. */
const separator = /[\s./()_+\p{Dash}\p{Default_Ignorable_Code_Point}]/u;
const word = /[0-9A-Za-z]/;

/**
 * The characters and digits of a text that somebody or something is known by, in lower case; null: it is none. Words without
 * a digit are none, nor is a decimal fraction: another amount has the same digits.
 */
export function identifierOf(text: string): string | null {
  if (text.length > chars_max) return null;
  const { text: found } = compacted(text);
  const digits = found.replace(/\D/g, "").length;
  return !found.includes("\n") && found.length >= chars_min && digits >= digits_min ? found : null;
}

/** A text as identifiers are looked for in it. */
export interface Compacted {
  /** Characters and digits in lower case without what only groups them; anything else is a line end. */
  readonly text: string;
  /** Where each unit of it stands in the whole text. */
  readonly at: readonly number[];
}

/** The text without what groups the characters of numbers. */
export function compacted(text: string): Compacted {
  const units: string[] = [];
  const at: number[] = [];
  let between = 0;
  const add = (unit: string, index: number) => {
    units.push(unit);
    at.push(index);
  };
  let index = 0;
  for (const char of text) {
    if (word.test(char)) {
      if (between > between_max) add("\n", index);
      between = 0;
      add(char.toLowerCase(), index);
    } else if ((separator.test(char) && !isDecimalPoint(text, index)) || isOfThousands(text, index)) between += 1;
    else {
      between = 0;
      add("\n", index);
    }
    index += char.length;
  }
  return { text: units.join(""), at };
}

/** A part of a text: from `start` up to, not including, `end`. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Where a part of the compacted text stands in the whole one. */
export function wholeSpan({ at }: Compacted, { start, end }: TextSpan): TextSpan {
  return { start: at[start] as number, end: (at[end - 1] as number) + 1 };
}

/** The text with one mark for each of these parts of it, in whatever order they come, and one for those that overlap. */
export function struckOut(text: string, spans: readonly TextSpan[], mark: string): string {
  let left = "";
  let at = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start >= at) left += text.slice(at, start) + mark;
    at = Math.max(at, end);
  }
  return left + text.slice(at);
}

/** A single point between digits: 2500.00 is another number than 250000. In 415.555.0100 no point is one. */
function isDecimalPoint(text: string, index: number): boolean {
  if (text[index] !== ".") return false;
  const before = /(?:^|[^\d.])\d+$/.test(text.slice(Math.max(0, index - 40), index));
  return before && /^\d+(?![\d.])/.test(text.slice(index + 1, index + 41));
}

/** A comma before just three digits: 1,000,000 is 1000000. Any other one parts what is listed. */
function isOfThousands(text: string, index: number): boolean {
  return text[index] === "," && /^\d,\d{3}(?!\d)/.test(text.slice(index - 1, index + 5));
}
