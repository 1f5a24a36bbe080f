import type { ToolAction } from "./classify-tool.ts";
import { type PackSignals, packSignals } from "./pack-signals.ts";
import { type Found, locate, locateAll, locatePair, type Reading, read } from "./phrases.ts";
import {
  EU_CODES,
  EVERYWHERE,
  type Home,
  OF_THE_EEA_BY_ADJECTIVE,
  PLACES,
  type Place,
  unitedStates,
} from "./places.ts";
import { shorten } from "./words.ts";

export interface Situation {
  readonly description: string;
  readonly industry?: string | undefined;
  readonly regions?: readonly string[] | undefined;
  readonly data_classes?: readonly string[] | undefined;
}

export interface PackRecommendation {
  readonly pack: string;
  readonly because: string;
}

/** Words as the customer wrote them. */
interface Evidence {
  readonly words: readonly string[];
  readonly from: string;
}

interface Located {
  readonly from: string;
  readonly reading: Reading;
  readonly found: readonly { readonly at: Found; readonly places: readonly Place[] }[];
}

const words_shown_max = 6;
const word_chars_shown_max = 40;
/** Tools below this confidence, such as one that clicks in a browser, do not count for packs on systems. */
const system_confidence_min = 0.7;
const BY_LENGTH = [...PLACES].sort(([a], [b]) => b.split(" ").length - a.split(" ").length || b.length - a.length);

/** Returns words in text order, without places inside others. */
const shown = ({ text, words }: Reading, found: readonly Found[]): string[] => {
  const outer = found.filter(
    ([first, last], n) =>
      !found.some(
        ([f, l], m) => f <= first && last <= l && (l - f > last - first || (l - f === last - first && m < n)),
      ),
  );
  const written = outer
    .sort(([a], [b]) => a - b)
    .map(([first, last]) => text.slice(words[first]?.start, words[last]?.end).replace(/\s+/g, " "));
  return [...new Set(written)].slice(0, words_shown_max);
};

/** Returns the places in a text. A denied United States is elsewhere; other denied places are ignored. */
const placesIn = (reading: Reading, from: string): Located => {
  const claimed = new Set<number>();
  const found: { at: Found; places: readonly Place[] }[] = [];
  for (const [phrase, places] of BY_LENGTH) {
    for (const at of locateAll(reading, phrase)) {
      if (claimed.has(at[0]) && claimed.has(at[1])) continue;
      for (let word = at[0]; word <= at[1]; word++) claimed.add(word);
      if (!reading.denied.has(at[0])) found.push({ at, places });
      else if (unitedStates.has(phrase)) found.push({ at, places: ["other"] });
    }
  }
  const adjective = locatePair(reading, OF_THE_EEA_BY_ADJECTIVE);
  if (adjective !== null) found.push({ at: [adjective[0], adjective[0]], places: ["eu"] });
  return { from, reading, found };
};

/** Reads `US-CA`, `Texas`, `DE`, `eu-west-1`, `worldwide`. An unknown region is elsewhere. */
const placesOfRegions = (regions: readonly string[]): Located => {
  const upper = regions.map((region) => region.trim().replace(/\b[a-z]{2}(?=$|[^a-z])/g, (code) => code.toUpperCase()));
  const located = placesIn(read(upper.join(", ")), "among the regions");
  const found = [...located.found];
  let word = 0;
  for (const region of upper) {
    const [first, last] = [word, word + read(region).words.length - 1];
    word = last + 1;
    if (EVERYWHERE.has(region.toLowerCase())) found.push({ at: [first, last], places: ["us", "us-ca", "eu", "other"] });
    else if (EU_CODES.has(region)) found.push({ at: [first, last], places: ["eu"] });
    else if (!found.some(({ at }) => at[0] <= last && at[1] >= first))
      found.push({ at: [first, last], places: ["other"] });
  }
  return { ...located, found };
};

/** US laws apply if the customer names no place. */
const applies = (home: Home | undefined, places: ReadonlySet<Place>): boolean =>
  home === undefined || places.has(home) || (home === "us" && places.size === 0);

/** Returns the words that lead to a pack. Where its law does not apply, only the law's own names count. */
const hits = (reading: Reading, { names, phrases, pairs = [] }: PackSignals, fitting: boolean): Found[] => {
  const found: (Found | null)[] = [];
  for (const name of names) found.push(locate(reading, name));
  if (fitting) for (const phrase of phrases) found.push(locate(reading, phrase));
  if (fitting) for (const pair of pairs) found.push(locatePair(reading, pair));
  return found.filter((one) => one !== null);
};

const verbsFor = ({ pack, actions }: PackSignals, tools: readonly ToolAction[]): string[] => {
  // Provenance needs tools that read texts of others, beside tools that change something.
  if (pack === "provenance" && tools.some(({ type }) => type !== "data.read" && type !== "other.unclassified"))
    return tools.filter(({ reads_third_party }) => reads_third_party).map(({ verb }) => verb);
  return tools
    .filter(({ type, confidence }) => !type.startsWith("system.") || confidence >= system_confidence_min)
    .filter(({ type }) => actions.some((wanted) => (wanted.endsWith(".") ? type.startsWith(wanted) : type === wanted)))
    .map(({ verb }) => verb);
};

const sentence = ({ means }: PackSignals, evidence: readonly Evidence[]): string => {
  const quoted = (words: readonly string[]) =>
    words.map((word) => `"${shorten(word, word_chars_shown_max)}"`).slice(0, words_shown_max);
  return `${evidence.map(({ words, from }) => `${quoted(words).join(", ")} ${from}`).join("; ")}: ${means}.`;
};

/**
 * Recommends packs in a fixed order, with the customer's words that led to each. Deterministic. Customers who name only
 * other places get no law with a home (United States, California, EEA), unless they name the law. Ignores denied words
 * ("no card data") and packs that quickstart enables.
 */
export const recommendPacks = (situation: Situation, tools: readonly ToolAction[] = []): PackRecommendation[] => {
  const { description, industry, regions = [], data_classes = [] } = situation;
  const texts = [placesIn(read(description), "in the description")];
  if (industry !== undefined) texts.push(placesIn(read(industry), "in the industry"));
  const located = regions.length === 0 ? texts : [placesOfRegions(regions), ...texts];
  const places = new Set(located.flatMap(({ found }) => found.flatMap((one) => one.places)));
  const classes = data_classes.map(read);

  return packSignals.flatMap((signals) => {
    const { pack, home, industries = [] } = signals;
    const fitting = applies(home, places);
    const evidence: Evidence[] = texts.map(({ from, reading }) => {
      const trades = fitting && from === "in the industry" ? industries.map((trade) => locate(reading, trade)) : [];
      return {
        from,
        words: shown(reading, [...hits(reading, signals, fitting), ...trades.filter((one) => one !== null)]),
      };
    });
    const named = classes.filter(
      (reading) =>
        signals.data_classes.includes(reading.text.trim().toLowerCase()) || hits(reading, signals, fitting).length > 0,
    );
    evidence.push({ from: "among the data classes", words: named.map(({ text }) => text) });
    evidence.push({ from: "among the tools", words: fitting ? verbsFor(signals, tools) : [] });
    // California or the EEA alone is enough. The United States need other evidence.
    if (home !== "us" || evidence.some(({ words }) => words.length > 0)) {
      const there = ({ found }: Located) => found.filter((one) => home !== undefined && one.places.includes(home));
      const first = located.find((one) => there(one).length > 0);
      if (first !== undefined)
        evidence.push({
          from: first.from,
          words: shown(
            first.reading,
            there(first).map(({ at }) => at),
          ),
        });
    }
    const told = evidence.filter(({ words }) => words.length > 0);
    return told.length === 0 ? [] : [{ pack, because: sentence(signals, told) }];
  });
};
