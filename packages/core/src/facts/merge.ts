import { type Assurance, type FactCategoryName, factCategoryNames, type PullFailure } from "@countersign/contract";
import { withTcpaFallback } from "../functions/tcpa-fallback.ts";
import { parseIsoTimeUs } from "../time.ts";

/** Where a fact can come from, most trusted first. */
export const factSources = ["token", "pulled", "target", "agent", "org", "inline"] as const;

export type FactSource = (typeof factSources)[number];

/** The part of a valid context document (contract §2.9) that `mergeFacts` reads. */
export interface FactDocument {
  readonly facts: { readonly [category in FactCategoryName]?: Readonly<Record<string, unknown>> | undefined };
  readonly as_of?: { readonly [category in FactCategoryName]?: string | undefined } | undefined;
}

/** Names of facts, by category. */
type FactNames = { readonly [category in FactCategoryName]?: readonly string[] };

/** Facts whose numbers a double would round. The document of their source has null in their place. */
export type InexactFacts = FactNames;

/** One document to merge, with the time of its receipt. */
export interface ContextSource {
  readonly source: FactSource;
  readonly document: FactDocument;
  readonly received_us: number;
  readonly inexact?: InexactFacts | undefined;
  /** Only of the source `token`: the facts that the token did not prove. No other source gives them. */
  readonly unproved?: FactNames | undefined;
  /** Absent: that of the source. */
  readonly assurance?: Assurance | undefined;
  /** Whether the document is stored for another spelling of the agent's id or of the target. */
  readonly respelled?: boolean;
}

/** The source of a fact, its as-of time, and its assurance where that is not the one of the source. */
export interface FactOrigin {
  readonly source: FactSource;
  readonly as_of_us: number;
  readonly assurance?: Assurance;
}

/** Inline facts of decisions before assurance was recorded count as reported, because nobody knows who sent them. */
const assuranceOfSource: Readonly<Record<FactSource, Assurance>> = {
  token: "verified",
  pulled: "pulled",
  target: "stored",
  agent: "stored",
  org: "stored",
  inline: "reported",
};

/** Returns how sure the facts of an origin are. */
export function assuranceOf({ source, assurance }: Pick<FactOrigin, "source" | "assurance">): Assurance {
  return assurance ?? assuranceOfSource[source];
}

/** Returns the origin of the facts of a source. */
function originOfSource(
  { source, assurance }: Pick<ContextSource, "source" | "assurance">,
  as_of_us: number,
): FactOrigin {
  return assurance === undefined || assurance === assuranceOfSource[source]
    ? { source, as_of_us }
    : { source, as_of_us, assurance };
}

/**
 * The merged facts of one category. `origin` is the origin of every field that `origins` does not name. With one source, the
 * usual case, `values` is the object of that source, without a copy.
 */
export interface CategoryFacts {
  readonly values: Readonly<Record<string, unknown>>;
  readonly origin: FactOrigin;
  readonly origins: Readonly<Record<string, FactOrigin>> | null;
  /** Fields that are unknown, whatever other sources say, because their source gave a number that no double holds. */
  readonly inexact?: readonly string[];
  /** Fields that are unknown, whatever other sources say, because the agent's token did not prove them. */
  readonly unproved?: readonly string[];
  /** Fields that are unknown because the caller who asks does not get their values. Never stored. */
  readonly not_shown?: readonly string[];
}

/** Facts, by category, that are stored for another spelling of the agent's id or of the target. */
export type RespelledFacts = { readonly [category in FactCategoryName]?: Readonly<Record<string, unknown>> };

/**
 * All facts of one decision with their origins, as plain data that is stored with the intent. `not_pulled` says why the context
 * source gave no facts.
 */
export type MergedFacts = { readonly [category in FactCategoryName]?: CategoryFacts } & {
  readonly not_pulled?: PullFailure;
  /** These facts are unknown, and their values count where they forbid something. */
  readonly respelled?: RespelledFacts;
  /** The agents above the one that acts, the nearest first, with the facts of each. Absent: there is none. */
  readonly ancestors?: readonly Ancestor[];
};

/** An agent above the one that acts. */
export interface Ancestor {
  readonly id: string;
  /** Who says that this agent is above the acting one. */
  readonly source: "token" | "register" | "submitted";
  /** The facts of the action, with those that are stored for this agent. */
  readonly facts: MergedFacts;
}

/**
 * Merges documents into one set of facts. For each fact the most trusted source wins, whatever its age and the order of
 * `sources`. Inline facts come last, so an agent cannot replace a stored or pulled fact. Of two documents of one source the
 * later received one wins. A null counts as missing, but an inexact or unproved fact is not replaced. `regulatory.tcpa` fills in flat facts that its own document lacks.
 * Documents for another spelling of an id replace nothing: they are merged by themselves, as `respelled`.
 */
export function mergeFacts(sources: readonly ContextSource[], not_pulled: PullFailure | null = null): MergedFacts {
  const ranked = sources.length < 2 ? sources : [...sources].sort(byTrust);
  const merged: { -readonly [member in keyof MergedFacts]: MergedFacts[member] } = {};
  if (not_pulled !== null) merged.not_pulled = not_pulled;
  if (ranked.some(isRespelled)) {
    const respelled = respelledFacts(ranked.filter(isRespelled));
    const others = mergeFacts(
      ranked.filter((source) => !isRespelled(source)),
      not_pulled,
    );
    return { ...others, respelled };
  }
  for (const category of factCategoryNames) {
    let facts: CategoryFacts | undefined;
    for (const source of ranked) {
      const given = source.document.facts[category];
      if (given === undefined || given === null) continue;
      // Before the merge, because otherwise an agent's flat fact would win over a stored container.
      const values = category === "regulatory" ? withTcpaFallback(given) : given;
      const origin = originOfSource(source, asOfUs(source, category));
      const inexact = source.inexact?.[category];
      const unproved = source.unproved?.[category];
      if (facts !== undefined) facts = addMissing(facts, values, origin, inexact);
      else {
        const unusable = { ...(inexact !== undefined && { inexact }), ...(unproved !== undefined && { unproved }) };
        facts = { values, origin, origins: null, ...unusable };
      }
    }
    if (facts !== undefined) merged[category] = facts;
  }
  return merged;
}

function isRespelled({ respelled }: ContextSource): boolean {
  return respelled === true;
}

function respelledFacts(ranked: readonly ContextSource[]): RespelledFacts {
  const merged = mergeFacts(ranked.map((source) => ({ ...source, respelled: false })));
  return Object.fromEntries(
    factCategoryNames.flatMap((category) => {
      const found = merged[category];
      return found === undefined ? [] : [[category, found.values]];
    }),
  );
}

function byTrust(a: ContextSource, b: ContextSource): number {
  return factSources.indexOf(a.source) - factSources.indexOf(b.source) || b.received_us - a.received_us;
}

/** Returns the as-of time of a category; without one, the time of receipt. */
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
  inexact: readonly string[] = [],
): CategoryFacts {
  let all: Record<string, unknown> | null = null;
  let origins: Record<string, FactOrigin> | null = null;
  for (const field of Object.keys(values)) {
    if (values[field] === undefined || !isMissing(ownValue(facts.values, field))) continue;
    if (facts.inexact?.includes(field) || facts.unproved?.includes(field)) continue;
    // A null without another value stays null, so that `x == null` is definite.
    if (values[field] === null && Object.hasOwn(facts.values, field)) continue;
    all ??= { ...facts.values };
    origins ??= { ...facts.origins };
    all[field] = values[field];
    origins[field] = origin;
  }
  const added = all === null ? facts : { ...facts, values: all, origins };
  // Only what no better source gives is unknown because of its number.
  const unknown = inexact.filter(
    (field) => isMissing(ownValue(facts.values, field)) && !facts.unproved?.includes(field),
  );
  return unknown.length === 0 ? added : { ...added, inexact: [...(facts.inexact ?? []), ...unknown] };
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null;
}

function ownValue(values: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(values, field) ? values[field] : undefined;
}

/** Returns the origin of one fact; null if the fact is missing or null. */
export function originOf(facts: MergedFacts, category: FactCategoryName, field: string): FactOrigin | null {
  const found = facts[category];
  if (found === undefined || isMissing(ownValue(found.values, field))) return null;
  return originIn(found, field);
}

/** Returns the origin of a field that the category has. */
export function originIn({ origins, origin }: CategoryFacts, field: string): FactOrigin {
  return (origins !== null && Object.hasOwn(origins, field) ? origins[field] : undefined) ?? origin;
}

/**
 * Returns the facts for a caller who does not get stored and pulled values. These facts are unknown on every view, also where
 * they forbid something, because otherwise their values could be found by trying. Returns `facts` itself if it has none.
 */
export function withoutValues(facts: MergedFacts): MergedFacts {
  if (!hidesAny(facts) && !facts.ancestors?.some((each) => hidesAny(each.facts))) return facts;
  const { respelled = {}, ancestors, ...others } = facts;
  const shown: { -readonly [member in keyof MergedFacts]: MergedFacts[member] } = { ...others };
  if (ancestors !== undefined)
    shown.ancestors = ancestors.map((each) => ({ ...each, facts: withoutValues(each.facts) }));
  for (const category of factCategoryNames) {
    const found = facts[category];
    const names = Object.keys(found?.values ?? {});
    const hidden = found === undefined ? [] : names.filter((field) => hidesValue(originIn(found, field)));
    const not_shown = [...new Set([...hidden, ...Object.keys(respelled[category] ?? {})])];
    if (not_shown.length === 0) continue;
    const none: CategoryFacts = { values: {}, origin: { source: "org", as_of_us: 0 }, origins: null };
    shown[category] = { ...(found ?? none), not_shown };
  }
  return shown;
}

function hidesAny(facts: MergedFacts): boolean {
  if (facts.respelled !== undefined) return true;
  return factCategoryNames.some((category) => {
    const found = facts[category];
    if (found === undefined) return false;
    return hidesValue(found.origin) || (found.origins !== null && Object.values(found.origins).some(hidesValue));
  });
}

/** Whether callers who only submit do not get the value of a fact of this origin. */
export function hidesValue(origin: FactOrigin): boolean {
  const assurance = assuranceOf(origin);
  return assurance === "stored" || assurance === "pulled";
}

/** One fact of an answer; `path` is `category.field`. */
export interface ListedFact extends FactOrigin {
  readonly path: string;
  readonly value: unknown;
}

/** Returns every fact with a value and its origin, by category in the order of the contract, then by name. */
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
