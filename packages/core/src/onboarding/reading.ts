import { MEANING_ELSE } from "./meaning-else.ts";
import { isDenied, isNegation } from "./negation.ts";
import { stem, TEXT_CHARS_MAX, type Word, wordsIn } from "./words.ts";

/** A text ready for looking phrases up. */
export interface Reading {
  readonly text: string;
  readonly words: readonly Word[];
  readonly lower: readonly string[];
  readonly stems: readonly string[];
  /** Where each stem stands. */
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** What stands between a word and the one before it. */
  readonly gaps: readonly string[];
  /** Where a sentence or clause begins, by word: what is denied before it is not denied in it. */
  readonly begins: ReadonlySet<number>;
  /** Words of phrases that mean something else: the card of "business card". */
  readonly masked: ReadonlySet<number>;
  /** The same text with camelCase left whole: "FedRAMP" and "DoD" are one word each there, as their laws spell them. */
  readonly whole?: Reading;
}

/** From where to where in the text a phrase stands. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A verb and what it is done to, a word or so apart: "calls back all our customers". Both as stems. */
export interface Pair {
  readonly verbs: ReadonlySet<string>;
  readonly objects: ReadonlySet<string>;
}

/** Commas end nothing: "no payments, cards or refunds" denies all three. */
const CLAUSE = /[;:!?\n—–()]|\.(?:\s|$)|\s-\s/;

/** "CVs" and "PDFs" are plurals however short. */
const stemOf = (written: string): string =>
  /^\p{Lu}{2,}s$/u.test(written) ? written.slice(0, -1).toLowerCase() : stem(written.toLowerCase());

const readAs = (text: string, camel: boolean): Reading => {
  const words = wordsIn(text, camel);
  const stems = words.map(({ written }) => stemOf(written));
  const gaps = words.map(({ start }, at) => text.slice(words[at - 1]?.end ?? 0, start));
  const places = new Map<string, number[]>();
  for (const [at, one] of stems.entries()) {
    const known = places.get(one);
    if (known === undefined) places.set(one, [at]);
    else known.push(at);
  }
  const lower = words.map(({ written }) => written.toLowerCase());
  const begins = new Set([...gaps.keys()].filter((at) => at === 0 || CLAUSE.test(gaps[at] ?? "")));
  const bare: Reading = { text, words, lower, stems, places, gaps, begins, masked: new Set() };
  const masked = new Set<number>();
  for (const phrase of MEANING_ELSE) {
    for (const at of startsOf(bare, phrase)) {
      for (let word = at; word < at + partsOf(phrase).length; word++) masked.add(word);
    }
  }
  return { ...bare, masked };
};

/** Reads a text once. */
export const read = (text: string): Reading => {
  const cut = text.slice(0, TEXT_CHARS_MAX);
  return { ...readAs(cut, true), whole: readAs(cut, false) };
};

interface Part {
  readonly stem: string;
  /** As it must be written, where the phrase says so by capitals. */
  readonly exact: string | null;
}
const known = new Map<string, readonly Part[]>();
/** The words of one of our own phrases, split once: never for what a caller sent. */
const partsOf = (phrase: string): readonly Part[] => {
  const before = known.get(phrase);
  if (before !== undefined) return before;
  const parts = phrase
    .split(" ")
    .map((word) => ({ stem: stemOf(word), exact: word === word.toLowerCase() ? null : word }));
  known.set(phrase, parts);
  return parts;
};

function* startsOf(reading: Reading, phrase: string): Generator<number> {
  const parts = partsOf(phrase);
  for (const start of reading.places.get(parts[0]?.stem ?? "") ?? []) {
    const fits = parts.every(({ stem, exact }, at) => {
      if (reading.stems[start + at] !== stem || reading.masked.has(start + at)) return false;
      const { written } = reading.words[start + at] ?? { written: "" };
      return exact === null || written === exact || written === `${exact}s`;
    });
    if (fits) yield start;
  }
}

/** From where to where in the text these words stand. */
export const spanOf = (reading: Reading, first: number, last: number): Span => ({
  start: reading.words[first]?.start ?? 0,
  end: reading.words[last]?.end ?? 0,
});

/**
 * Where the phrase stands in the text and is not denied, or null. Singular and plural are one; "call-centre" and "callCentre"
 * are two words, "callcentre" is one, and "callCentre" is that, too. Capitals in a phrase must be capitals in the text.
 */
export const locate = (reading: Reading, phrase: string): Span | null => {
  for (const [first, last] of locateAll(reading, phrase)) return spanOf(reading, first, last);
  return reading.whole === undefined ? null : locate(reading.whole, phrase);
};

/** First and last word of every place where the phrase stands and is not denied; or is. */
export function* locateAll(
  reading: Reading,
  phrase: string,
  denied = false,
): Generator<readonly [first: number, last: number]> {
  const words = partsOf(phrase).length;
  for (const first of startsOf(reading, phrase)) {
    const last = first + words - 1;
    if (isDenied(reading, first, last) === denied) yield [first, last];
  }
}

/** What may stand between a verb and its object in any number; of other words, one. */
const FILLERS = new Set(
  (
    "the a an our their your its all any every each new some to up back out on in of and or with that which your his her these " +
    "those other more unpaid overdue incoming inbound"
  ).split(" "),
);
const NUMBER = /^\p{N}+$/u;
const PAIR_REACH = 5;

/** Where a verb stands with its object, not denied, or null. */
export const locatePair = (reading: Reading, { verbs, objects }: Pair): Span | null => {
  for (const verb of verbs) {
    for (const start of reading.places.get(verb) ?? []) {
      if (reading.masked.has(start)) continue;
      const end = objectOf(reading, start, objects);
      if (end !== null && !isDenied(reading, start, end)) return spanOf(reading, start, end);
    }
  }
  return null;
};

const objectOf = (reading: Reading, verb: number, objects: ReadonlySet<string>): number | null => {
  let others = 0;
  for (let at = verb + 1; at <= verb + PAIR_REACH; at++) {
    const word = reading.stems[at];
    if (word === undefined || reading.begins.has(at) || isNegation(word)) return null;
    if (objects.has(word) && !reading.masked.has(at)) return at;
    if (!FILLERS.has(word) && !NUMBER.test(word) && ++others > 1) return null;
  }
  return null;
};

/** The words as written where the phrase stands in the text and is not denied, or null. */
export const find = (reading: Reading, phrase: string): string | null => {
  const span = locate(reading, phrase);
  return span === null ? null : reading.text.slice(span.start, span.end);
};
