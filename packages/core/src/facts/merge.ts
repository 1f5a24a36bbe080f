import {
  type Assurance,
  clock_hour_fact,
  type FactCategoryName,
  factCategoryNames,
  type PullFailure,
} from "@countersign/contract";
import { withTcpaFallback } from "../functions/tcpa-fallback.ts";
import { parseIsoTimeUs } from "../time.ts";

/** Most trusted first. */
export const factSources = ["token", "pulled", "target", "agent", "org", "inline"] as const;

export type FactSource = (typeof factSources)[number];

/** The part of a valid context document that is merged. Source: spec §2.9. */
export interface FactDocument {
  readonly facts: { readonly [category in FactCategoryName]?: Readonly<Record<string, unknown>> | undefined };
  readonly as_of?: { readonly [category in FactCategoryName]?: string | undefined } | undefined;
}

type FactNames = { readonly [category in FactCategoryName]?: readonly string[] };

/** Their numbers do not fit a double, so the document has null instead. */
export type InexactFacts = FactNames;

export interface ContextSource {
  readonly source: FactSource;
  readonly document: FactDocument;
  readonly received_us: number;
  readonly inexact?: InexactFacts | undefined;
  /** Facts not proved by the token. Only for the source `token`. */
  readonly unproved?: FactNames | undefined;
  /** Defaults to the source's. */
  readonly assurance?: Assurance | undefined;
  /** Stored for another spelling of the agent's id or the target. */
  readonly respelled?: boolean;
}

/** `assurance` only if not the source's default. */
export interface FactOrigin {
  readonly source: FactSource;
  readonly as_of_us: number;
  readonly assurance?: Assurance;
}

/** Inline facts of old decisions count as reported, because their sender is unknown. */
const assuranceOfSource: Readonly<Record<FactSource, Assurance>> = {
  token: "verified",
  pulled: "pulled",
  target: "stored",
  agent: "stored",
  org: "stored",
  inline: "reported",
};

export function assuranceOf({ source, assurance }: Pick<FactOrigin, "source" | "assurance">): Assurance {
  return assurance ?? assuranceOfSource[source];
}

function originOfSource(
  { source, assurance }: Pick<ContextSource, "source" | "assurance">,
  as_of_us: number,
): FactOrigin {
  return assurance === undefined || assurance === assuranceOfSource[source]
    ? { source, as_of_us }
    : { source, as_of_us, assurance };
}

/** `origin` applies to every field not in `origins`. */
export interface CategoryFacts {
  readonly values: Readonly<Record<string, unknown>>;
  readonly origin: FactOrigin;
  readonly origins: Readonly<Record<string, FactOrigin>> | null;
  /** Unknown regardless of other sources, because the number does not fit a double. */
  readonly inexact?: readonly string[];
  /** Unknown regardless of other sources, because the token did not prove them. */
  readonly unproved?: readonly string[];
  /** Unknown, because hidden from the caller. Never stored. */
  readonly not_shown?: readonly string[];
}

/** Stored for another spelling of the agent's id or the target. */
export type RespelledFacts = { readonly [category in FactCategoryName]?: Readonly<Record<string, unknown>> };

/** Stored with the intent. `not_pulled` is the failure of the context source. */
export type MergedFacts = { readonly [category in FactCategoryName]?: CategoryFacts } & {
  readonly not_pulled?: PullFailure;
  /** Unknown, but the values count where they forbid something. */
  readonly respelled?: RespelledFacts;
  /** Nearest first. */
  readonly ancestors?: readonly Ancestor[];
};

export interface Ancestor {
  readonly id: string;
  readonly source: "token" | "register" | "submitted";
  /** Includes facts stored for this agent. */
  readonly facts: MergedFacts;
}

/**
 * Merges documents. The most trusted source of each fact wins, regardless of age and order. Inline facts rank last, so
 * an agent cannot replace a stored or pulled fact. Within a source the later received document wins. Null counts as
 * missing, but inexact and unproved facts are not replaced. `regulatory.tcpa` fills missing flat facts of its own
 * document. Documents for another spelling become `respelled`.
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
      // Before the merge, so an agent's flat fact does not win over a stored container.
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

/** Defaults to the time of receipt. */
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
    // Null stays, so that `x == null` is definite.
    if (values[field] === null && Object.hasOwn(facts.values, field)) continue;
    all ??= { ...facts.values };
    origins ??= { ...facts.origins };
    all[field] = values[field];
    origins[field] = origin;
  }
  const added = all === null ? facts : { ...facts, values: all, origins };
  // Unknown only if no better source gives it.
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

/** Null if the fact is missing or null. */
export function originOf(facts: MergedFacts, category: FactCategoryName, field: string): FactOrigin | null {
  const found = facts[category];
  if (found === undefined || isMissing(ownValue(found.values, field))) return null;
  return originIn(found, field);
}

export function originIn({ origins, origin }: CategoryFacts, field: string): FactOrigin {
  return (origins !== null && Object.hasOwn(origins, field) ? origins[field] : undefined) ?? origin;
}

/**
 * Makes stored and pulled facts unknown on every view, even where they forbid something, because callers could
 * otherwise guess their values. Returns `facts` itself if nothing is hidden.
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

/**
 * Returns the facts as if each was `by_us` younger, for a decision at a later time with facts as fresh as now. The clock hour keeps its
 * time, because its value is another one later.
 */
export function asFreshLater(facts: MergedFacts, by_us: number): MergedFacts {
  const moved: { -readonly [member in keyof MergedFacts]: MergedFacts[member] } = { ...facts };
  const later = (origin: FactOrigin): FactOrigin => ({ ...origin, as_of_us: origin.as_of_us + by_us });
  for (const category of factCategoryNames) {
    const found = facts[category];
    if (found === undefined) continue;
    const origins = Object.fromEntries(
      Object.keys(found.values).map((field) => {
        const origin = originIn(found, field);
        return [field, `${category}.${field}` === clock_hour_fact ? origin : later(origin)];
      }),
    );
    moved[category] = { ...found, origin: later(found.origin), origins };
  }
  if (facts.ancestors !== undefined)
    moved.ancestors = facts.ancestors.map((each) => ({ ...each, facts: asFreshLater(each.facts, by_us) }));
  return moved;
}

function hidesAny(facts: MergedFacts): boolean {
  if (facts.respelled !== undefined) return true;
  return factCategoryNames.some((category) => {
    const found = facts[category];
    if (found === undefined) return false;
    return hidesValue(found.origin) || (found.origins !== null && Object.values(found.origins).some(hidesValue));
  });
}

/** True for facts that callers who only submit must not see. */
export function hidesValue(origin: FactOrigin): boolean {
  const assurance = assuranceOf(origin);
  return assurance === "stored" || assurance === "pulled";
}

/** `path` is `category.field`. */
export interface ListedFact extends FactOrigin {
  readonly path: string;
  readonly value: unknown;
}

/** Lists facts by category in contract order, then by name. Omits missing values. */
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
