import { clipText } from "../clip-text.ts";

const camelApart = (text: string): string =>
  text
    .slice(0, TEXT_CHARS_MAX)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, "$1 $2");

/** Words of a text as written, punctuation taken apart. */
const written = (text: string): readonly string[] =>
  text
    .slice(0, TEXT_CHARS_MAX)
    .replace(/['’]/g, "")
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");

/** Words of a text in lower case, camelCase taken apart, too: "sendEmail_v2" is send, email, v2. */
export const wordsOf = (text: string): readonly string[] => written(camelApart(text)).map((word) => word.toLowerCase());

/** No description says more after this many characters; a bound keeps the reading linear and short. */
export const TEXT_CHARS_MAX = 20_000;

/** The plural's stem, so that "patients", "boxes" and "companies" meet "patient", "box" and "company". */
export const stem = (word: string): string => {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") && !word.endsWith("us")
    ? word.slice(0, -1)
    : word;
};

const NEGATIONS = new Set([
  "no",
  "not",
  "without",
  "never",
  "neither",
  "nor",
  "dont",
  "doesnt",
  "wont",
  "cannot",
  "excluding",
  "except",
  "non",
]);
/** A negation reaches this many words ahead: "we do not store any card data". */
const NEGATION_REACH = 4;
const CLAUSE_ENDS = new Set(["but", "however", "although"]);

/** A text ready for looking phrases up. */
export interface Reading {
  readonly written: readonly string[];
  readonly words: readonly string[];
  readonly stems: readonly string[];
  /** Where a sentence or clause begins, by word: what is denied before it is not denied in it. */
  readonly begins: ReadonlySet<number>;
  /** The same text with camelCase left whole: "FedRAMP" and "DoD" are one word each there, as their laws spell them. */
  readonly whole?: Reading;
}

/** Commas end nothing: "no payments, cards or refunds" denies all three. */
const CLAUSE = /[;:!?\n—–]|\.(?=\s|$)|\s-\s/;

const readAs = (apart: (clause: string) => readonly string[], text: string): Reading => {
  const begins = new Set<number>();
  const all: string[] = [];
  for (const clause of text.slice(0, TEXT_CHARS_MAX).split(CLAUSE)) {
    begins.add(all.length);
    all.push(...apart(clause));
  }
  const words = all.map((word) => word.toLowerCase());
  return { written: all, words, stems: words.map(stem), begins };
};

/** Reads a text once. */
export const read = (text: string): Reading => ({
  ...readAs((clause) => written(camelApart(clause)), text),
  whole: readAs(written, text),
});

const negated = (reading: Reading, start: number): boolean => {
  for (let at = start - 1; at >= 0 && at >= start - NEGATION_REACH; at--) {
    if (reading.begins.has(at + 1)) return false;
    const word = reading.words[at] ?? "";
    if (CLAUSE_ENDS.has(word)) return false;
    if (NEGATIONS.has(word)) return true;
  }
  return false;
};

/**
 * The words as written where the phrase stands in the text and is not denied, or null. Singular and plural are one;
 * "call-centre" and "callCentre" are two words, "callcentre" is one, and "callCentre" is that, too.
 */
export const find = (reading: Reading, phrase: string): string | null => {
  const wanted = phrase.split(" ").map(stem);
  for (let start = 0; start + wanted.length <= reading.stems.length; start++) {
    if (wanted.every((word, at) => reading.stems[start + at] === word) && !negated(reading, start)) {
      return reading.written.slice(start, start + wanted.length).join(" ");
    }
  }
  return reading.whole === undefined ? null : find(reading.whole, phrase);
};

/** At most `chars_max` characters of a text, with an ellipsis where something was cut. Never cuts a surrogate pair. */
export const shorten = (text: string, chars_max: number): string => {
  return text.length <= chars_max ? text : `${clipText(text, chars_max - 1)}…`;
};
