import {
  assuranceRank,
  clock_hour_fact,
  type FactCategoryName,
  type FactsFrom,
  factCategories,
  factCategoryNames,
  factMaxAgeSeconds,
} from "@countersign/contract";
import { containedFacts, container_fact } from "../functions/tcpa-fallback.ts";
import { us_per_second } from "../time.ts";
import {
  asOfUs,
  assuranceOf,
  type CategoryFacts,
  type FactDocument,
  type FactOrigin,
  type MergedFacts,
  originIn,
  originOf,
  type RespelledFacts,
} from "./merge.ts";
import { as_of_ahead_us_max } from "./validate-context.ts";

/** Seconds by category (`security`) or fact (`environmental.tls_version`). */
export type MaxAgeSeconds = Readonly<Record<string, number>>;

const hour_us = 3_600 * us_per_second;
const [clock_category, clock_field = ""] = clock_hour_fact.split(".");

/** A field with null is limited only by the clock hour. */
interface CategoryLimits {
  readonly max_age_us: number;
  readonly fields: ReadonlyMap<string, number | null>;
  readonly least_us: number;
  readonly from: number;
  readonly fields_from: ReadonlyMap<string, number>;
  /** Facts of this rank always count. */
  readonly most_from: number;
}

export type FactLimits = { readonly [category in FactCategoryName]: CategoryLimits };

/**
 * Resolves age limits. Later layers win. Within a layer a fact wins over its category; a category also replaces the
 * facts of earlier layers. The clock hour has no age limit unless a layer names it or its category. Of assurances the
 * strictest layer wins.
 */
export function resolveLimits(
  layers: readonly (MaxAgeSeconds | undefined)[],
  sources: readonly (FactsFrom | null | undefined)[] = [],
): FactLimits {
  const limits: Partial<Record<FactCategoryName, CategoryLimits>> = {};
  for (const category of factCategoryNames) {
    let max_age_us = factCategories[category].max_age_seconds * us_per_second;
    const fields = new Map<string, number | null>();
    for (const [path, seconds] of Object.entries(factMaxAgeSeconds)) {
      if (path.startsWith(`${category}.`)) fields.set(path.slice(category.length + 1), seconds * us_per_second);
    }
    if (category === clock_category) fields.set(clock_field, null);
    for (const layer of layers) {
      if (layer === undefined) continue;
      if (Object.hasOwn(layer, category)) {
        max_age_us = (layer[category] ?? 0) * us_per_second;
        fields.clear();
      }
      for (const [path, seconds] of Object.entries(layer)) {
        if (path.startsWith(`${category}.`)) fields.set(path.slice(category.length + 1), seconds * us_per_second);
      }
    }
    const least_us = Math.min(max_age_us, ...[...fields.values()].map((limit) => limit ?? max_age_us));
    limits[category] = { max_age_us, fields, least_us, ...resolveFrom(category, sources) };
  }
  return limits as FactLimits;
}

function resolveFrom(
  category: FactCategoryName,
  layers: readonly (FactsFrom | null | undefined)[],
): Pick<CategoryLimits, "from" | "fields_from" | "most_from"> {
  const given = layers.filter((layer) => layer !== null && layer !== undefined);
  const rankOf = (path: string): number =>
    Math.max(0, ...given.map((layer) => assuranceRank[layer[path] ?? layer[category] ?? "reported"]));
  const paths = given.flatMap((layer) => Object.keys(layer)).filter((path) => path.startsWith(`${category}.`));
  const ranks = new Map(paths.map((path) => [path, rankOf(path)]));
  // Rules may read its facts in the container.
  const contained = containedFacts.flatMap((path) => ranks.get(path) ?? []);
  if (contained.length > 0) ranks.set(container_fact, Math.max(rankOf(container_fact), ...contained));
  const fields_from = new Map([...ranks].map(([path, rank]) => [path.slice(category.length + 1), rank]));
  const from = rankOf(category);
  return { from, fields_from, most_from: Math.max(from, ...fields_from.values()) };
}

function isUntrusted(limits: CategoryLimits, field: string, origin: FactOrigin): boolean {
  const rank = assuranceRank[assuranceOf(origin)];
  return rank < limits.most_from && rank < (limits.fields_from.get(field) ?? limits.from);
}

/**
 * Returns when a fact becomes stale, in microseconds: as-of time plus maximum age, or the end of the clock hour. Null
 * for unusable facts.
 */
export function freshUntilUs(
  facts: MergedFacts,
  limits: FactLimits,
  category: FactCategoryName,
  field: string,
  now_us: number,
): number | null {
  const origin = originOf(facts, category, field);
  if (origin === null || isStale(limits[category], category, field, origin.as_of_us, now_us)) return null;
  if (isUntrusted(limits[category], field, origin)) return null;
  const aged_us = origin.as_of_us + maxAgeUs(limits[category], field);
  return isClockHour(category, field) ? Math.min(aged_us, hourEndUs(origin.as_of_us)) : aged_us;
}

function isStale(
  limits: CategoryLimits,
  category: FactCategoryName,
  field: string,
  as_of_us: number,
  now_us: number,
): boolean {
  // A fact exactly as old as its limit is fresh. A clock hour ends when the next begins.
  if (now_us - as_of_us > maxAgeUs(limits, field) || isTooFarAhead(as_of_us, now_us)) return true;
  return isClockHour(category, field) && now_us >= hourEndUs(as_of_us);
}

/** True if some clock was wrong, so the age is unknown. */
function isTooFarAhead(as_of_us: number, now_us: number): boolean {
  return as_of_us - now_us > as_of_ahead_us_max;
}

function maxAgeUs(limits: CategoryLimits, field: string): number {
  const own = limits.fields.get(field);
  return own === undefined ? limits.max_age_us : (own ?? Number.POSITIVE_INFINITY);
}

function isClockHour(category: FactCategoryName, field: string): boolean {
  return field === clock_field && category === clock_category;
}

function hourEndUs(as_of_us: number): number {
  return (Math.floor(as_of_us / hour_us) + 1) * hour_us;
}

/**
 * True if all facts of a document are fresh under all limits. An as-of time after the receipt counts as the receipt.
 */
export function isFresh(
  document: FactDocument,
  received_us: number,
  limits: readonly FactLimits[],
  now_us: number,
): boolean {
  return factCategoryNames.every((category) => {
    const values = document.facts[category];
    if (values === undefined) return true;
    const as_of_us = Math.min(asOfUs({ document, received_us }, category), received_us);
    if (limits.some((each) => now_us - as_of_us > each[category].least_us)) return false;
    const hourly = category === clock_category && Object.hasOwn(values, clock_field);
    return !hourly || now_us < hourEndUs(as_of_us);
  });
}

export type FactBindings = { readonly [category in FactCategoryName]: Readonly<Record<string, unknown>> };

const empty: Readonly<Record<string, unknown>> = Object.freeze({});
const no_fields: readonly string[] = Object.freeze([]);

/** Replaces an unusable fact. `unusable null`: null, and stale or untrusted as well. */
export type Marker = (
  path: string,
  reason:
    | "null"
    | "stale"
    | "unusable null"
    | "inexact"
    | "untrusted_token"
    | "untrusted_source"
    | "other_spelling"
    | "not_shown",
) => unknown;

/** Returns all facts regardless of age and assurance. `marker` replaces null, inexact, unproved and hidden facts. */
export function rawView(facts: MergedFacts, marker: Marker): FactBindings {
  const given = (category: FactCategoryName): Readonly<Record<string, unknown>> =>
    markNull(facts[category], category, marker);
  return {
    environmental: given("environmental"),
    entity_state: given("entity_state"),
    regulatory: given("regulatory"),
    organizational: given("organizational"),
    identity: given("identity"),
    security: given("security"),
  };
}

/** Also replaces nulls within a category's keys. */
function markNull(
  {
    values,
    inexact = no_fields,
    unproved = no_fields,
    not_shown = no_fields,
  }: Pick<CategoryFacts, "values" | "inexact" | "unproved" | "not_shown"> = { values: empty },
  category: FactCategoryName,
  marker: Marker,
): Readonly<Record<string, unknown>> {
  let marked: Record<string, unknown> | null = null;
  for (const field in values) {
    if (values[field] !== null) continue;
    marked ??= { ...values };
    marked[field] = marker(`facts.${category}.${field}`, "null");
  }
  for (const field of inexact) {
    marked ??= { ...values };
    marked[field] = marker(`facts.${category}.${field}`, "inexact");
  }
  for (const field of unproved) {
    marked ??= { ...values };
    marked[field] = marker(`facts.${category}.${field}`, "untrusted_token");
  }
  for (const field of not_shown) {
    marked ??= { ...values };
    marked[field] = marker(`facts.${category}.${field}`, "not_shown");
  }
  return marked ?? values;
}

/**
 * Marks facts that are stale, of too little assurance, or stored for another spelling. Returns `raw` itself if there
 * are none.
 */
export function freshView(
  facts: MergedFacts,
  raw: FactBindings,
  limits: FactLimits,
  now_us: number,
  marker: Marker,
): FactBindings {
  let view: Record<FactCategoryName, Readonly<Record<string, unknown>>> | null = null;
  for (const category of factCategoryNames) {
    const found = facts[category];
    if (found === undefined || isSurelyFresh(found, limits[category], category, now_us)) continue;
    const values = markUnusable(found, raw[category], limits[category], category, now_us, marker);
    if (values === raw[category]) continue;
    view ??= { ...raw };
    view[category] = values;
  }
  return facts.respelled === undefined ? (view ?? raw) : overlaid(view ?? raw, facts.respelled, marker);
}

export function respelledView(raw: FactBindings, respelled: RespelledFacts): FactBindings {
  return overlaid(raw, respelled, null);
}

function overlaid(view: FactBindings, respelled: RespelledFacts, marker: Marker | null): FactBindings {
  const over: Record<FactCategoryName, Readonly<Record<string, unknown>>> = { ...view };
  for (const category of factCategoryNames) {
    const values = respelled[category];
    if (values === undefined) continue;
    const fields = Object.entries(values).filter(([, value]) => value !== null);
    over[category] = {
      ...view[category],
      ...Object.fromEntries(
        fields.map(([field, value]) => [
          field,
          marker === null ? value : marker(`facts.${category}.${field}`, "other_spelling"),
        ]),
      ),
    };
  }
  return over;
}

function isSurelyFresh(
  found: CategoryFacts,
  limits: CategoryLimits,
  category: FactCategoryName,
  now_us: number,
): boolean {
  if (found.origins !== null || now_us - found.origin.as_of_us > limits.least_us) return false;
  if (limits.most_from > 0 && assuranceRank[assuranceOf(found.origin)] < limits.most_from) return false;
  if (isTooFarAhead(found.origin.as_of_us, now_us)) return false;
  return category !== clock_category || !Object.hasOwn(found.values, clock_field);
}

function markUnusable(
  found: CategoryFacts,
  raw: Readonly<Record<string, unknown>>,
  limits: CategoryLimits,
  category: FactCategoryName,
  now_us: number,
  marker: Marker,
): Readonly<Record<string, unknown>> {
  let marked: Record<string, unknown> | null = null;
  for (const field of Object.keys(found.values)) {
    const value = found.values[field];
    if (value === undefined) continue;
    const origin = originIn(found, field);
    const is_untrusted = isUntrusted(limits, field, origin);
    if (!is_untrusted && !isStale(limits, category, field, origin.as_of_us, now_us)) continue;
    const reason = is_untrusted ? "untrusted_source" : "stale";
    marked ??= { ...raw };
    marked[field] = marker(`facts.${category}.${field}`, value === null ? "unusable null" : reason);
  }
  return marked ?? raw;
}
