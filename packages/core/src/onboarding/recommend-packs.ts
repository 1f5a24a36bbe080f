import type { ToolAction } from "./classify-tool.ts";
import { PACK_SIGNALS, type PackSignals } from "./pack-signals.ts";
import { type Home, type Place, placesIn } from "./places.ts";
import { locate, locatePair, type Reading, read, type Span } from "./reading.ts";
import { type Region, regionsOf } from "./regions.ts";
import { shorten } from "./words.ts";

/** What a customer says about himself. Everything but the description may be absent. */
export interface Situation {
  readonly description: string;
  readonly industry?: string | undefined;
  readonly regions?: readonly string[] | undefined;
  readonly data_classes?: readonly string[] | undefined;
}

/** One pack and the words that led to it. */
export interface PackRecommendation {
  readonly pack: string;
  readonly because: string;
}

interface Evidence {
  readonly words: readonly string[];
  readonly from: string;
}

const quoted = (words: readonly string[]): string =>
  words.map((word) => `"${shorten(word, WORD_CHARS_SHOWN_MAX)}"`).join(", ");
const WORDS_SHOWN_MAX = 6;
const WORD_CHARS_SHOWN_MAX = 40;

/** The words of these spans, in the text's order, none that is part of one already shown. */
const shownOf = (text: string, spans: readonly Span[]): string[] => {
  const outer: Span[] = [];
  for (const one of [...spans].sort((a, b) => b.end - b.start - (a.end - a.start))) {
    if (!outer.some(({ start, end }) => start <= one.start && one.end <= end)) outer.push(one);
  }
  const words = outer
    .sort((a, b) => a.start - b.start)
    .map(({ start, end }) => text.slice(start, end).replace(/\s+/g, " "));
  return [...new Set(words)].slice(0, WORDS_SHOWN_MAX);
};

/** Where the words stand that lead to a pack. */
const hits = (reading: Reading, signals: PackSignals, fitting: boolean): Span[] =>
  [
    ...(fitting ? [...signals.names, ...signals.phrases] : signals.names).map((phrase) => locate(reading, phrase)),
    ...(fitting ? (signals.pairs ?? []) : []).map((pair) => locatePair(reading, pair)),
  ].filter((span) => span !== null);

interface Text {
  readonly from: string;
  readonly reading: Reading;
  readonly places: ReturnType<typeof placesIn>;
}

const textOf = (from: string, text: string): Text => {
  const reading = read(text);
  return { from, reading, places: placesIn(reading) };
};

/** Whether a law's home fits: yes when nothing is known of places, except that California and the EU must be named. */
const fits = (home: Home | undefined, homes: ReadonlySet<Place>): boolean =>
  home === undefined || homes.has(home) || (home === "us" && homes.size === 0);

const SYSTEM_CONFIDENCE_MIN = 0.7;
/** A tool that only perhaps changes a system, as one that clicks in a browser does, is no reason for a pack on systems. */
const actionHits = (tools: readonly ToolAction[], patterns: readonly string[]): string[] =>
  tools
    .filter(({ type, confidence }) => !type.startsWith("system.") || confidence >= SYSTEM_CONFIDENCE_MIN)
    .filter(({ type }) =>
      patterns.some((pattern) => (pattern.endsWith(".") ? type.startsWith(pattern) : type === pattern)),
    )
    .map(({ verb }) => verb)
    .slice(0, WORDS_SHOWN_MAX);

const evidenceFor = (
  signals: PackSignals,
  data_classes: readonly Reading[],
  texts: readonly Text[],
  tools: readonly ToolAction[],
  fitting: boolean,
): Evidence[] => {
  const evidence: Evidence[] = [];
  for (const { from, reading } of texts) {
    const trades = from === "industry" && fitting ? (signals.industries ?? []) : [];
    const spans = [...hits(reading, signals, fitting), ...trades.map((trade) => locate(reading, trade))];
    const words = shownOf(
      reading.text,
      spans.filter((span) => span !== null),
    );
    if (words.length > 0) evidence.push({ words, from: `in the ${from}` });
  }
  const classes = data_classes
    .filter(
      (reading) =>
        signals.data_classes.includes(reading.text.trim().toLowerCase()) || hits(reading, signals, fitting).length > 0,
    )
    .map(({ text }) => text);
  if (classes.length > 0) evidence.push({ words: classes.slice(0, WORDS_SHOWN_MAX), from: "among the data classes" });
  const verbs = fitting ? actionHits(tools, signals.actions) : [];
  if (verbs.length > 0) evidence.push({ words: verbs, from: "among the tools" });
  return evidence;
};

const sentence = (signals: PackSignals, evidence: readonly Evidence[]): string => {
  const said = evidence.map(({ words, from }) => `${quoted(words)} ${from}`).join("; ");
  return `${said}: ${signals.means}.`;
};

/** Tools that read what others wrote, beside tools that change something: the provenance pack's case. */
const readsOthers = (tools: readonly ToolAction[]): string[] =>
  tools.some(({ type }) => type !== "data.read" && type !== "other.unclassified")
    ? tools.filter(({ reads_third_party }) => reads_third_party).map(({ verb }) => verb)
    : [];

/**
 * The packs that a customer's own words call for, in a fixed order, each with those words. Deterministic and without any
 * network: the same words give the same answer. A law with a home (United States, California, EEA) is left out for who
 * names only other places, unless the law itself is named. Words that are denied ("no card data") do not count.
 * The packs that quickstart switches on by itself are not repeated here.
 * Source: api.md §10 "Intake".
 */
export const recommendPacks = (situation: Situation, tools: readonly ToolAction[] = []): PackRecommendation[] => {
  const texts = [textOf("description", situation.description)];
  if (situation.industry !== undefined) texts.push(textOf("industry", situation.industry));
  const data_classes = (situation.data_classes ?? []).map(read);
  const regions = regionsOf(situation.regions ?? []);
  const homes = new Set<Place>(regions.flatMap((region) => [...region.homes]));
  for (const { places } of texts) for (const { home } of places) homes.add(home);
  return PACK_SIGNALS.flatMap((signals) => {
    const evidence = evidenceFor(signals, data_classes, texts, tools, fits(signals.home, homes));
    if (signals.pack === "provenance") {
      const verbs = readsOthers(tools).slice(0, WORDS_SHOWN_MAX);
      if (verbs.length > 0) evidence.push({ words: verbs, from: "among the tools" });
    }
    const place = placeEvidence(
      signals,
      evidence.flatMap(({ words }) => words),
      regions,
      texts,
      homes,
    );
    if (place === null)
      return evidence.length === 0 ? [] : [{ pack: signals.pack, because: sentence(signals, evidence) }];
    // California and the EEA are reason enough; being in the United States only supports what else was said.
    if (evidence.length === 0 && signals.home === "us") return [];
    return [{ pack: signals.pack, because: sentence(signals, [...evidence, place]) }];
  });
};

/** The words by which a law's home was told: regions as given ("US-CA", "DE"), else names in the texts. */
const placeEvidence = (
  { home }: PackSignals,
  shown_already: readonly string[],
  regions: readonly Region[],
  texts: readonly Text[],
  homes: ReadonlySet<Place>,
): Evidence | null => {
  if (home === undefined || !homes.has(home)) return null;
  const named = regions.filter((region) => region.homes.has(home)).map(({ given }) => given);
  if (named.length > 0) return { words: named.slice(0, WORDS_SHOWN_MAX), from: "among the regions" };
  for (const { from, reading, places } of texts) {
    const words = shownOf(
      reading.text,
      places.filter((place) => place.home === home),
    ).filter((shown) => !shown_already.some((words) => words.includes(shown)));
    if (words.length > 0) return { words, from: `in the ${from}` };
  }
  return null;
};
