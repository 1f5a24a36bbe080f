/**
 * Finds look-alikes: words that mix scripts, and unexpected letters that look Latin. A Greek, Cyrillic or Japanese text
 * with Latin words has none.
 */
import { looksLatin } from "./latin-look-alikes.ts";

/** `end` is not included. */
export interface LookAlike {
  readonly start: number;
  readonly end: number;
  readonly name: string;
  /** False: a word that mixes scripts, without letters that look Latin. */
  readonly is_letter: boolean;
}

/** A word, or a JSON escape, whose letters are no word. */
const wordOrEscape = /\\(?:u[0-9a-f]{4}|.)|[\p{L}\p{M}\p{N}]+/giu;

/**
 * Scripts allowed in one word with Latin letters (UTS 39, moderately restrictive). Without Armenian, whose letters look
 * Latin.
 */
const mixable = [
  ...["Arabic", "Bengali", "Bopomofo", "Devanagari", "Ethiopic", "Georgian", "Gujarati", "Gurmukhi", "Han", "Hangul"],
  ...["Hebrew", "Hiragana", "Kannada", "Katakana", "Khmer", "Lao", "Malayalam", "Myanmar", "Oriya", "Sinhala", "Tamil"],
  ...["Telugu", "Thaana", "Thai", "Tibetan"],
];
const familiar = ["Latin", "Common", "Inherited", ...mixable].map((script) => `\\p{Script=${script}}`).join("");
/** A letter of a script that must not share a word with Latin letters. */
const foreign = new RegExp(`(?=\\p{L})[^${familiar}]`, "u");
const latin = /\p{Script=Latin}/u;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const fullWidth = /[\uff00-\uffef]/;

const scripts = ["Greek", "Cyrillic", "Armenian", "Cherokee", "Coptic", "Lisu", "Deseret"].map(
  (name) => [name, new RegExp(`\\p{Script=${name}}`, "u")] as const,
);

function scriptOf(letter: string): string {
  return scripts.find(([, has]) => has.test(letter))?.[0] ?? "foreign";
}

interface Word {
  readonly start: number;
  readonly text: string;
  readonly foreign_letters: readonly string[];
  readonly scripts: ReadonlySet<string>;
}

export function lookAlikesIn(text: string): LookAlike[] {
  if (!/[^\p{ASCII}]/u.test(text)) return [];
  const words = [...text.matchAll(wordOrEscape)].flatMap(({ 0: found, index }) =>
    found.startsWith("\\") ? [] : [wordOf(found, index)],
  );
  // A word with a letter that does not look Latin proves its script, even if its other letters look Latin.
  const written = new Set(
    words.flatMap((word) => (word.foreign_letters.every((each) => looksLatin.test(each)) ? [] : [...word.scripts])),
  );
  const east_asian = eastAsian.test(text);
  return words.flatMap((word) => {
    if (word.scripts.size === 0) return styledLetters(word, east_asian);
    if (word.scripts.size > 1 || latin.test(word.text)) return mixedWord(word);
    const [script = ""] = word.scripts;
    const is_usual = written.has(script) && !isJoinedToLatin(text, word);
    return is_usual ? [] : lettersOf(word, isForeignLookAlike);
  });
}

function wordOf(text: string, start: number): Word {
  const foreign_letters = [...text].filter((char) => foreign.test(char));
  return { start, text, foreign_letters, scripts: new Set(foreign_letters.map(scriptOf)) };
}

/** Returns whether a word is part of a domain or an address with a Latin word. */
function isJoinedToLatin(text: string, { start, text: { length } }: Word): boolean {
  const [before, after] = [text.slice(Math.max(0, start - 3), start), text.slice(start + length, start + length + 3)];
  return /\p{Script=Latin}[.@]$/u.test(before) || /^[.@]\p{Script=Latin}/u.test(after);
}

const isForeignLookAlike = (char: string): boolean => foreign.test(char) && looksLatin.test(char);

/**
 * Returns the look-alike letters of a word that mixes scripts, otherwise the word. Latin names with Greek signs (Δt)
 * are common.
 */
function mixedWord(word: Word): LookAlike[] {
  const letters = lettersOf(word, isForeignLookAlike);
  if (letters.length > 0) return letters;
  const names = [...(latin.test(word.text) ? ["Latin"] : []), ...word.scripts];
  if (names.join() === "Latin,Greek") return [];
  const name = `word that mixes ${names.join(" and ")} letters`;
  return [{ start: word.start, end: word.start + word.text.length, name, is_letter: false }];
}

/** Returns letters that imitate ASCII, such as mathematical ones. Full-width letters are common in East Asian texts. */
function styledLetters(word: Word, east_asian: boolean): LookAlike[] {
  return lettersOf(word, (char) => {
    // The dotless i is Turkish, and ordinals (1º) are letters without case.
    if (!looksLatin.test(char) || !/\p{Lu}|\p{Ll}/u.test(char) || char === "ı") return false;
    return !(east_asian && fullWidth.test(char));
  });
}

function lettersOf({ text, start }: Word, isAlike: (char: string) => boolean): LookAlike[] {
  const found: LookAlike[] = [];
  let at = start;
  for (const char of text) {
    const name = `${foreign.test(char) ? `${scriptOf(char)} ` : ""}letter that looks like a Latin one`;
    if (isAlike(char)) found.push({ start: at, end: at + char.length, name, is_letter: true });
    at += char.length;
  }
  return found;
}
