import { clipText } from "../values/clip-text.ts";

/** Bounds the work. */
export const text_chars_max = 20_000;

/** Splits camelCase, but not "PDFs" and "10K". */
const camelPattern =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{N})(?=\p{Lu}\p{Ll})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})(?!\p{Lu}s(?![\p{L}\p{N}]))/gu;

/** Matches words such as "doesn't", "U.S.", and "-free" (of "PHI-free"). */
const wordPattern = /-free(?![\p{L}\p{N}])|(?:\p{L}\.){2,}(?![\p{L}\p{N}])|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*/gu;

export const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(" "));

export const phraseList = (text: string): readonly string[] => text.split("|").map((phrase) => phrase.trim());

export interface Word {
  readonly written: string;
  readonly start: number;
  readonly end: number;
}

/** Returns words without punctuation. `camel` splits camelCase: "sendEmail_v2" is send, Email, v2. */
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

export const wordsOf = (text: string): readonly string[] =>
  wordsIn(text, true).map(({ written }) => written.toLowerCase());

/** Removes the plural: "patients", "boxes", "companies". */
export const stem = (word: string): string => {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(?:ss|sh|ch|x|zz)es$/.test(word)) return word.slice(0, -2);
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") && !word.endsWith("us")
    ? word.slice(0, -1)
    : word;
};

/** Returns call, calling, called. `stem` handles the third person. */
export const verbForms = (verb: string): readonly string[] => {
  if (verb.endsWith("e")) return [verb, `${verb.slice(0, -1)}ing`, `${verb}d`];
  if (/[^aeiou]y$/.test(verb)) return [verb, `${verb}ing`, `${verb.slice(0, -1)}ied`];
  return [verb, `${verb}ing`, `${verb}ed`];
};

/** Ends with an ellipsis if cut. Never cuts a surrogate pair. */
export const shorten = (text: string, chars_max: number): string => {
  return text.length <= chars_max ? text : `${clipText(text, chars_max - 1)}…`;
};

/** Lists the first names, and how many more there are. */
export const names = (given: readonly string[], shown_max = 8): string => {
  const list = given.map((name) => shorten(name, 64));
  return list.length <= shown_max
    ? list.join(", ")
    : `${list.slice(0, shown_max).join(", ")} and ${list.length - shown_max} more`;
};
