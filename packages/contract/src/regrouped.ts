/**
 * Finds identifying numbers in other spellings. If policies hide "4111111111111111", then "4111 1111 1111 1111" must be
 * hidden, too.
 */

/** Shorter numbers occur in amounts and years. */
const chars_min = 6;
const digits_min = 5;
/** No identifying number is longer. */
const chars_max = 100;
/** More separators end a number. */
const between_max = 3;

/** A character that may separate groups, or hide between two characters. */
const separator = /[\s./()_+\p{Dash}\p{Default_Ignorable_Code_Point}]/u;
const word = /[0-9A-Za-z]/;

/**
 * Returns the letters and digits of an identifying text in lower case, or null. Words without a digit do not identify.
 * Decimal fractions do not either, because other amounts share their digits.
 */
export function identifierOf(text: string): string | null {
  if (text.length > chars_max) return null;
  const { text: found } = compacted(text);
  const digits = found.replace(/\D/g, "").length;
  return !found.includes("\n") && found.length >= chars_min && digits >= digits_min ? found : null;
}

export interface Compacted {
  /** Letters and digits in lower case, without separators. Any other character is a line end. */
  readonly text: string;
  /** The index in the original text of each unit of `text`. */
  readonly at: readonly number[];
}

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

/** `start` is included, `end` is not. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

export function wholeSpan({ at }: Compacted, { start, end }: TextSpan): TextSpan {
  return { start: at[start] as number, end: (at[end - 1] as number) + 1 };
}

/** Returns the text with a mark for each span. Overlapping spans share one mark. Spans may be in any order. */
export function struckOut(text: string, spans: readonly TextSpan[], mark: string): string {
  let left = "";
  let at = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (start >= at) left += text.slice(at, start) + mark;
    at = Math.max(at, end);
  }
  return left + text.slice(at);
}

/** Returns whether a point is the only one between digits: 2500.00, but not 415.555.0100. */
function isDecimalPoint(text: string, index: number): boolean {
  if (text[index] !== ".") return false;
  const before = /(?:^|[^\d.])\d+$/.test(text.slice(Math.max(0, index - 40), index));
  return before && /^\d+(?![\d.])/.test(text.slice(index + 1, index + 41));
}

/** Returns whether exactly three digits follow a comma, as in 1,000,000. */
function isOfThousands(text: string, index: number): boolean {
  return text[index] === "," && /^\d,\d{3}(?!\d)/.test(text.slice(index - 1, index + 5));
}
