import { CONDITIONS, DENIES_ALL, FILLERS, MEANING_ELSE, NEGATIONS, SUBJECTS } from "./denials.ts";
import { stem, text_chars_max, type Word, wordsIn } from "./words.ts";

export interface Reading {
  readonly text: string;
  readonly words: readonly Word[];
  readonly stems: readonly string[];
  readonly positions: ReadonlyMap<string, readonly number[]>;
  /** Positions at which a clause begins. */
  readonly begins: ReadonlySet<number>;
  /** Words of phrases that mean something else: the card of "business card". */
  readonly masked: ReadonlySet<number>;
  readonly denied: ReadonlySet<number>;
}

export type Found = readonly [first: number, last: number];

/** A verb and its object, a few words apart: "calls back all our customers". */
export interface Pair {
  readonly verbs: ReadonlySet<string>;
  readonly objects: ReadonlySet<string>;
}

const clauseEnd = /[;:!?\n—–()]|\.(?:\s|$)|\s-\s/;
/** A longer list item begins a clause, and negations end there. */
const item_words_max = 3;
const pair_reach = 5;

/** Returns "cv" for "CVs". */
const stemOf = (written: string): string =>
  /^\p{Lu}{2,}s$/u.test(written) ? written.slice(0, -1).toLowerCase() : stem(written.toLowerCase());

/** Splits a text into words. Marks those that are denied or mean something else. */
export const read = (given: string): Reading => {
  const text = given.slice(0, text_chars_max);
  const words = wordsIn(text, false);
  const stems = words.map(({ written }) => stemOf(written));
  const positions = new Map<string, number[]>();
  for (const [at, one] of stems.entries()) {
    const known = positions.get(one);
    if (known === undefined) positions.set(one, [at]);
    else known.push(at);
  }
  const gaps = words.map(({ start }, at) => text.slice(words[at - 1]?.end ?? 0, start));
  const joint = (at: number): boolean => (gaps[at] ?? "").includes(",") || stems[at - 1] === "and";
  const begins = new Set<number>();
  for (const [at, gap] of gaps.entries()) {
    if (at === 0 || clauseEnd.test(gap) || stems[at] === "but") begins.add(at);
    if (joint(at) && SUBJECTS.has(stems[at] ?? "")) begins.add(at);
  }
  const bare = { text, words, stems, positions, begins, masked: new Set<number>(), denied: new Set<number>() };
  const masked = wordsOfPhrases(bare, MEANING_ELSE);
  const reading = { ...bare, masked };
  return { ...reading, denied: deniedIn(reading, (at) => begins.has(at) || (gaps[at] ?? "").includes(",")) };
};

const wordsOfPhrases = (reading: Reading, phrases: readonly string[]): Set<number> => {
  const found = new Set<number>();
  for (const phrase of phrases)
    for (const [first, last] of locateAll(reading, phrase)) for (let at = first; at <= last; at++) found.add(at);
  return found;
};

/**
 * Returns the words after a negation in its clause, and short list items after that. Some phrases deny their whole
 * clause.
 */
const deniedIn = (reading: Reading, starts: (at: number) => boolean): Set<number> => {
  const { stems, begins } = reading;
  const negations = wordsOfPhrases(reading, NEGATIONS);
  const total = wordsOfPhrases(reading, DENIES_ALL);
  const denied = new Set<number>();
  let carried = false;
  let before = 0;
  for (let start = 0, end = 1; start < stems.length; before = start, start = end, end++) {
    while (end < stems.length && !starts(end)) end++;
    const at = Array.from({ length: end - start }, (_, n) => start + n);
    const first = at.find((one) => negations.has(one));
    const conditional = at.some((one) => first !== undefined && one > first && CONDITIONS.has(stems[one] ?? ""));
    const or = at.find((one) => stems[one] === "or" || stems[one] === "and") ?? end;
    const item: boolean = carried && !begins.has(start) && or - start <= item_words_max;
    const whole: boolean = item || at.some((one) => total.has(one));
    const from: number = whole ? start : first === undefined || conditional ? end : first;
    // "Health data? No." denies the question.
    for (let one = at.length === 1 && from === start ? before : from; one < end; one++) denied.add(one);
    carried = item || (from < end && !whole);
  }
  return denied;
};

interface Part {
  readonly stem: string;
  /** Required spelling of a word with capitals. */
  readonly exact: string | null;
}
const split = new Map<string, readonly Part[]>();
/** Only for phrases of the tables, so that the cache is bounded. */
const partsOf = (phrase: string): readonly Part[] => {
  const known = split.get(phrase);
  if (known !== undefined) return known;
  const parts = phrase
    .split(" ")
    .map((word) => ({ stem: stemOf(word), exact: word === word.toLowerCase() ? null : word }));
  split.set(phrase, parts);
  return parts;
};

const NOWHERE: readonly Found[] = [];

/** Returns every place, denied or not. Ignores the plural. Capitals in the phrase must be capitals in the text. */
export const locateAll = ({ stems, positions, words, masked }: Reading, phrase: string): readonly Found[] => {
  const parts = partsOf(phrase);
  const starts = positions.get(parts[0]?.stem ?? "");
  if (starts === undefined) return NOWHERE;
  return starts
    .filter((first) =>
      parts.every(({ stem: wanted, exact }, n) => {
        const written = words[first + n]?.written ?? "";
        if (stems[first + n] !== wanted || masked.has(first + n)) return false;
        return exact === null || written === exact || written === `${exact}s`;
      }),
    )
    .map((first) => [first, first + parts.length - 1]);
};

export const locate = (reading: Reading, phrase: string): Found | null => {
  for (const found of locateAll(reading, phrase)) if (!reading.denied.has(found[0])) return found;
  return null;
};

/** Returns the first place that is not denied. Allows one word between verb and object, besides fillers. */
export const locatePair = (reading: Reading, { verbs, objects }: Pair): Found | null => {
  const { stems, begins, masked, denied, positions } = reading;
  const out = (at: number): boolean => masked.has(at) || denied.has(at);
  for (const verb of verbs) {
    for (const first of positions.get(verb) ?? []) {
      let others = 0;
      for (let at = first + 1; at <= first + pair_reach && at < stems.length && !begins.has(at) && others < 2; at++) {
        const word = stems[at] ?? "";
        if (objects.has(word) && !out(at) && !out(first)) return [first, at];
        if (!FILLERS.has(word) && !/^\p{N}+$/u.test(word)) others++;
      }
    }
  }
  return null;
};
