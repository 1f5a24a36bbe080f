import type { Reading } from "./reading.ts";
import { wordSet } from "./words.ts";

const NEGATIONS = wordSet(
  "no not without never neither nor dont doesnt didnt wont cant cannot couldnt isnt arent wasnt werent havent hasnt aint none " +
    "nothing excluding except non outside instead rather free exempt lack lacks zero",
);
/** Words that deny only with the one that follows: "free of", "exempt from", "instead of", "rather than". */
const WITH_NEXT: ReadonlyMap<string, string> = new Map([
  ["free", "of"],
  ["exempt", "from"],
  ["instead", "of"],
  ["rather", "than"],
]);
/** Whether a word between a verb and its object denies both: "we sell nothing online". */
export const isNegation = (word: string): boolean => NEGATIONS.has(word) && !WITH_NEXT.has(word);
/** "not only hospitals" and "no matter which clinic" deny nothing. */
const UNDONE_BY = wordSet("only just merely simply solely matter doubt limited less");
/** "no-code", "non-profit" and "no-shows" deny their own word, and nothing after it. */
const ONE_WORD_ONLY = wordSet("no non zero");
const OWN_WORD = wordSet("profit code show reply brainer bank human");

/** A negation reaches this many words ahead: "we do not store any card data". */
const NEGATION_REACH = 4;
/** In a list it reaches on: "no card data, student records or financial statements". */
const ITEM_WORDS_MAX = 3;
/** And never further than this, so that no text makes the walk long. */
const LIST_WORDS_MAX = 40;
/** After a comma or "and" these begin a clause of their own: "we take no cards, we bill patients". */
const SUBJECTS = wordSet(
  "we they it you i he she our your their its that which who the this these agents instead only just",
);
/** What is no item of a list, however short: "no setup, used by clinics". */
const NO_ITEM = wordSet("by for from at with which that who used trusted");
/** Words that do not count on the way: "we do not process any personal data of patients". */
const PASSED_OVER = wordSet(
  "any a an the of our your their other such personal sensitive kind kinds type types in to do",
);
const CLAUSE_ENDS = wordSet("but however although though yet");
const EVERYWHERE = wordSet("everywhere anywhere anyone everyone anything nothing all");

const hasComma = (reading: Reading, at: number): boolean => (reading.gaps[at] ?? "").includes(",");

/** Whether the word denies what stands at `start`, some words on. */
const denies = (reading: Reading, at: number, start: number): boolean => {
  const { lower, gaps } = reading;
  const word = lower[at] ?? "";
  const next = lower[at + 1] ?? "";
  if (word === "with" && lower[at - 1] === "do" && lower[at - 3] === "nothing") return true;
  if (!NEGATIONS.has(word) || UNDONE_BY.has(next)) return false;
  const needed = WITH_NEXT.get(word);
  if (needed !== undefined) return next === needed;
  // "outside office hours, clinics …": it denies places right behind it.
  if (word === "outside" && start - at > 3) return false;
  if (ONE_WORD_ONLY.has(word) && start !== at + 1) return gaps[at + 1] !== "-" && !OWN_WORD.has(next);
  return true;
};

const deniedBefore = (reading: Reading, start: number): boolean => {
  let left = NEGATION_REACH;
  let item_words = 0;
  let item = true;
  for (let at = start - 1; at >= 0 && at >= start - LIST_WORDS_MAX; at--) {
    if (reading.begins.has(at + 1)) return false;
    const word = reading.lower[at] ?? "";
    const comma = hasComma(reading, at + 1);
    if ((comma || word === "and") && SUBJECTS.has(reading.lower[at + 1] ?? "")) return false;
    if (comma || word === "or") {
      item &&= item_words <= ITEM_WORDS_MAX;
      if (item) left = NEGATION_REACH;
      item_words = 0;
      if (word === "or") continue;
    }
    if (CLAUSE_ENDS.has(word)) return word === "but" && EVERYWHERE.has(reading.lower[at - 1] ?? "");
    if (denies(reading, at, start)) {
      // "Without any coding, hospitals build …": what begins a sentence ends at its comma.
      return !(word === "without" && reading.begins.has(at) && commaWithin(reading, at + 1, start));
    }
    if (NO_ITEM.has(word)) item = false;
    if (PASSED_OVER.has(word)) continue;
    item_words++;
    left--;
    if (left <= 0) return false;
  }
  return false;
};

const commaWithin = (reading: Reading, from: number, to: number): boolean => {
  for (let at = from + 1; at <= to; at++) if (hasComma(reading, at)) return true;
  return false;
};

const DENIED_AFTER = wordSet("not never doesnt dont isnt arent wont cant cannot");
const TO_DENY = wordSet(
  "apply applies matter relevant applicable required needed involved stored processed handled collected touched used kept " +
    "concern issue in subject held seen accepted",
);
/** "calls are out of scope" */
const OUT_OF_SCOPE = ["out", "of", "scope"];
/** "Cards: none." */
const NONE = wordSet("none no");
const EXEMPT = wordSet("free exempt");

/** "PHI-free", "HIPAA does not apply to us", "card data is never stored". */
const deniedAfter = (reading: Reading, end: number): boolean => {
  if (NONE.has(reading.lower[end + 1] ?? "") && /^\s*[:?]\s*$/.test(reading.gaps[end + 1] ?? "")) return true;
  if (EXEMPT.has(reading.lower[end + 1] ?? "") && reading.gaps[end + 1] === "-") return true;
  for (let at = end + 1; at <= end + 4; at++) {
    const word = reading.lower[at];
    if (word === undefined || reading.begins.has(at) || hasComma(reading, at) || CLAUSE_ENDS.has(word)) return false;
    if (OUT_OF_SCOPE.every((part, nth) => reading.lower[at + nth] === part)) return true;
    if (DENIED_AFTER.has(word)) {
      const next = reading.lower[at + 1] ?? "";
      return TO_DENY.has(next === "a" || next === "an" ? (reading.lower[at + 2] ?? "") : next);
    }
  }
  return false;
};

/** "We never call before 8 am", "no deployment without a ticket": what has a condition is done. */
const CONDITIONS = wordSet("without before unless until twice after");
const CONDITION_REACH = 8;
const conditional = (reading: Reading, end: number): boolean => {
  for (let at = end + 1; at <= end + CONDITION_REACH; at++) {
    if (reading.begins.has(at) || hasComma(reading, at)) return false;
    if (CONDITIONS.has(reading.lower[at] ?? "")) return true;
  }
  return false;
};

/** Whether what stands from word `start` to word `end` is denied by words before or after it. */
export const isDenied = (reading: Reading, start: number, end: number): boolean =>
  deniedAfter(reading, end) || (deniedBefore(reading, start) && !conditional(reading, end));
