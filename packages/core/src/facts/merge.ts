import { type FactCategoryName, factCategoryNames, type PullFailure } from "@countersign/contract";
import { withTcpaFallback } from "../functions/tcpa-fallback.ts";
import { parseIsoTimeUs } from "../time.ts";

/** Where a fact can come from, most trusted first. Source: api.md §5 "Trust". */
export const factSources = ["pulled", "target", "agent", "org", "inline"] as const;

/** One of the places where a fact can come from. */
export type FactSource = (typeof factSources)[number];

/** A valid context document (contract §2.9) as far as merging reads it. */
export interface FactDocument {
  readonly facts: { readonly [category in FactCategoryName]?: Readonly<Record<string, unknown>> | undefined };
  readonly as_of?: { readonly [category in FactCategoryName]?: string | undefined } | undefined;
}

/** One document to merge. `received_us`: when it came. */
export interface ContextSource {
  readonly source: FactSource;
  readonly document: FactDocument;
  readonly received_us: number;
}

/** Who said a fact, and as of when. */
export interface FactOrigin {
  readonly source: FactSource;
  readonly as_of_us: number;
}

/**
 * The facts of one category after merging. `origin` holds for every field that `origins` does not name: with one
 * source, the usual case, `values` is that source's own object and nothing is copied.
 */
export interface CategoryFacts {
  readonly values: Readonly<Record<string, unknown>>;
  readonly origin: FactOrigin;
  readonly origins: Readonly<Record<string, FactOrigin>> | null;
}

/**
 * All facts of one decision with their origin. Plain data: stored with the intent and replayed from there.
 * `not_pulled`: the context source was asked and gave nothing; that is why facts are missing.
 */
export type MergedFacts = { readonly [category in FactCategoryName]?: CategoryFacts } & {
  readonly not_pulled?: PullFailure;
};

/**
 * Merges documents into one set of facts: for each fact the most trusted source that has it wins, whatever its age and
 * whatever the order of `sources`. Inline stands last, so nothing that an agent says displaces a stored or pulled fact.
 * A null counts as missing and hides nothing. `regulatory.tcpa` stands in for flat facts that its own document lacks.
 * Two documents of one source: the later received wins.
 * Source: api.md §5 "Trust"; policies.md §3 rule 3.
 */
export function mergeFacts(sources: readonly ContextSource[], not_pulled: PullFailure | null = null): MergedFacts {
  const ranked = sources.length < 2 ? sources : [...sources].sort(byTrust);
  const merged: { [category in FactCategoryName]?: CategoryFacts } & { not_pulled?: PullFailure } = {};
  if (not_pulled !== null) merged.not_pulled = not_pulled;
  for (const category of factCategoryNames) {
    let facts: CategoryFacts | undefined;
    for (const source of ranked) {
      const given = source.document.facts[category];
      if (given === undefined || given === null) continue;
      // Within each document, not after merging: else an agent's flat fact would hide the one in a stored container.
      const values = category === "regulatory" ? withTcpaFallback(given) : given;
      const origin = { source: source.source, as_of_us: asOfUs(source, category) };
      facts = facts === undefined ? { values, origin, origins: null } : addMissing(facts, values, origin);
    }
    if (facts !== undefined) merged[category] = facts;
  }
  return merged;
}

function byTrust(a: ContextSource, b: ContextSource): number {
  return factSources.indexOf(a.source) - factSources.indexOf(b.source) || b.received_us - a.received_us;
}

/** The moment of which a category's facts are; without a time of theirs that of their receipt. */
export function asOfUs(
  { document, received_us }: Pick<ContextSource, "document" | "received_us">,
  category: FactCategoryName,
): number {
  const text = document.as_of?.[category];
  return (text === undefined ? null : parseIsoTimeUs(text)) ?? received_us;
}

function addMissing(
  facts: CategoryFacts,
  values: Readonly<Record<string, unknown>>,
  origin: FactOrigin,
): CategoryFacts {
  let all: Record<string, unknown> | null = null;
  let origins: Record<string, FactOrigin> | null = null;
  for (const field of Object.keys(values)) {
    if (values[field] === undefined || !isMissing(ownValue(facts.values, field))) continue;
    // A null that nobody gives a value for stays one, as it would alone: `x == null` is definite then.
    if (values[field] === null && Object.hasOwn(facts.values, field)) continue;
    all ??= { ...facts.values };
    origins ??= { ...facts.origins };
    all[field] = values[field];
    origins[field] = origin;
  }
  return all === null ? facts : { values: all, origin: facts.origin, origins };
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

function ownValue(values: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(values, field) ? values[field] : undefined;
}

/** The origin of one fact, or null when the fact is missing or null. */
export function originOf(facts: MergedFacts, category: FactCategoryName, field: string): FactOrigin | null {
  const found = facts[category];
  if (found === undefined || isMissing(ownValue(found.values, field))) return null;
  return originIn(found, field);
}

/** The same for a field of a category that has it. */
export function originIn({ origins, origin }: CategoryFacts, field: string): FactOrigin {
  return (origins !== null && Object.hasOwn(origins, field) ? origins[field] : undefined) ?? origin;
}

/** One fact as an answer shows it; `path` is `category.field`. */
export interface ListedFact extends FactOrigin {
  readonly path: string;
  readonly value: unknown;
}

/** Every fact that has a value, with its origin, in contract order of categories and then by name. */
export function listFacts(facts: MergedFacts): ListedFact[] {
  const listed: ListedFact[] = [];
  for (const category of factCategoryNames) {
    const values = facts[category]?.values ?? {};
    for (const field of Object.keys(values).sort()) {
      const origin = originOf(facts, category, field);
      if (origin !== null) listed.push({ path: `${category}.${field}`, value: values[field], ...origin });
    }
  }
  return listed;
}
