import { clipText } from "../values/clip-text.ts";

/** No description says more after this many characters; a bound keeps the reading linear and short. */
export const text_chars_max = 20_000;

/** Where camelCase comes apart; "PDFs" and "10K" are one word each. */
const camelPattern =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{N})(?=\p{Lu}\p{Ll})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})(?!\p{Lu}s(?![\p{L}\p{N}]))/gu;

/** A word, with an apostrophe within, or letters with points, or the end of "PHI-free": "doesn't", "U.S.", "-free". */
const wordPattern = /-free(?![\p{L}\p{N}])|(?:\p{L}\.){2,}(?![\p{L}\p{N}])|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;

/** Our own words, written in a row. */
export const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/** Our own phrases, written in a row with a bar between. */
export const phraseList = (text: string): readonly string[] => text.split("|").map((phrase) => phrase.trim());

/** A word of a text without apostrophes and points, with its place. */
export interface Word {
  readonly written: string;
  readonly start: number;
  readonly end: number;
}

/** The words of a text as written, punctuation taken apart; with `camel`, camelCase too: "sendEmail_v2" is send, Email, v2. */
export const wordsIn = (text: string, camel: boolean): readonly Word[] => {
  const found: Word[] = [];
  for (const match of text.slice(0, text_chars_max).matchAll(wordPattern)) {
    let start = match.index;
    for (const part of camel ? match[0].split(camelPattern) : [match[0]]) {
      const written = part.replace(/['’.]/g, "");
      if (written !== "") found.push({ written, start, end: start + part.length });
      start += part.length;
    }
  }
  return found;
};

/** Words of a text in lower case, camelCase taken apart, too: "sendEmail_v2" is send, email, v2. */
export const wordsOf = (text: string): readonly string[] =>
  wordsIn(text, true).map(({ written }) => written.toLowerCase());

/** The plural's stem, so that "patients", "boxes" and "companies" meet "patient", "box" and "company". */
export const stem = (word: string): string => {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2);
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") && !word.endsWith("us")
    ? word.slice(0, -1)
    : word;
};

/** Returns the forms of a verb: "call" has call, calling, called. `stem` handles the third person. */
export const verbForms = (verb: string): readonly string[] => {
  if (verb.endsWith("e")) return [verb, `${verb.slice(0, -1)}ing`, `${verb}d`];
  if (/[^aeiou]y$/.test(verb)) return [verb, `${verb}ing`, `${verb.slice(0, -1)}ied`];
  return [verb, `${verb}ing`, `${verb}ed`];
};

/** At most `chars_max` characters of a text, with an ellipsis where something was cut. Never cuts a surrogate pair. */
export const shorten = (text: string, chars_max: number): string => {
  return text.length <= chars_max ? text : `${clipText(text, chars_max - 1)}…`;
};

/** The first names of a list, and how many more there are. */
export const names = (given: readonly string[], shown_max = 8): string => {
  const list = given.map((name) => shorten(name, 64));
  return list.length <= shown_max
    ? list.join(", ")
    : `${list.slice(0, shown_max).join(", ")} and ${list.length - shown_max} more`;
};
