/** Stores merged facts with each origin only once. */
import { type FactCategoryName, factCategoryNames, type PullFailure } from "@countersign/contract";
import type { Ancestor, CategoryFacts, FactOrigin, MergedFacts, RespelledFacts } from "./merge.ts";

/** Numbers are indexes of origins. */
interface StoredCategory {
  readonly values: CategoryFacts["values"];
  /** Absent: 0. */
  readonly origin?: number;
  /** Absent: all fields have the category's origin. */
  readonly origins?: Readonly<Record<string, number>>;
  readonly inexact?: readonly string[];
  readonly unproved?: readonly string[];
}

type StoredFacts = { readonly [category in FactCategoryName]?: StoredCategory } & {
  readonly origins: readonly FactOrigin[];
  readonly not_pulled?: PullFailure;
  readonly respelled?: RespelledFacts;
  readonly ancestors?: readonly (Pick<Ancestor, "id" | "source"> & { readonly facts: StoredFacts })[];
};

export function factsText(facts: MergedFacts): string {
  return JSON.stringify(storedFacts(facts));
}

function storedFacts(facts: MergedFacts): StoredFacts {
  const origins: FactOrigin[] = [];
  const placeOf = (origin: FactOrigin): number => {
    const known = origins.findIndex((each) => isSameOrigin(each, origin));
    return known === -1 ? origins.push(origin) - 1 : known;
  };
  const stored: { -readonly [member in keyof StoredFacts]: StoredFacts[member] } = { origins };
  for (const category of factCategoryNames) {
    const found = facts[category];
    if (found === undefined) continue;
    const origin = placeOf(found.origin);
    stored[category] = {
      values: found.values,
      ...(origin !== 0 && { origin }),
      ...(found.origins !== null && { origins: mapValues(found.origins, placeOf) }),
      ...(found.inexact !== undefined && { inexact: found.inexact }),
      ...(found.unproved !== undefined && { unproved: found.unproved }),
    };
  }
  if (facts.not_pulled !== undefined) stored.not_pulled = facts.not_pulled;
  if (facts.respelled !== undefined) stored.respelled = facts.respelled;
  if (facts.ancestors !== undefined)
    stored.ancestors = facts.ancestors.map((each) => ({ ...each, facts: storedFacts(each.facts) }));
  return stored;
}

function isSameOrigin(a: FactOrigin, b: FactOrigin): boolean {
  return a.source === b.source && a.as_of_us === b.as_of_us && a.assurance === b.assurance;
}

/** Returns null for another form. */
export function factsOf(stored: unknown): MergedFacts | null {
  if (!isStoredFacts(stored)) return null;
  const { origins, not_pulled, respelled, ancestors } = stored;
  const facts: { -readonly [member in keyof MergedFacts]: MergedFacts[member] } = {};
  if (not_pulled !== undefined) facts.not_pulled = not_pulled;
  if (respelled !== undefined) facts.respelled = respelled;
  if (ancestors !== undefined) {
    const read = ancestors.flatMap((each) => {
      const of_ancestor = factsOf(each.facts);
      return of_ancestor === null ? [] : [{ ...each, facts: of_ancestor }];
    });
    if (read.length < ancestors.length) return null;
    facts.ancestors = read;
  }
  for (const category of factCategoryNames) {
    const found = stored[category];
    if (found === undefined) continue;
    const origin = origins[found.origin ?? 0];
    if (origin === undefined) return null;
    facts[category] = {
      values: found.values,
      origin,
      origins: found.origins === undefined ? null : mapValues(found.origins, (place) => origins[place] ?? origin),
      ...(found.inexact !== undefined && { inexact: found.inexact }),
      ...(found.unproved !== undefined && { unproved: found.unproved }),
    };
  }
  return facts;
}

function isStoredFacts(value: unknown): value is StoredFacts {
  return typeof value === "object" && value !== null && "origins" in value && Array.isArray(value.origins);
}

function mapValues<From, To>(from: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, to(value)]));
}
