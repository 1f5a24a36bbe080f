import { clock_hour_fact, type FactCategoryName, factCategoryNames } from "@countersign/contract";
import { us_per_hour } from "../time.ts";
import {
  type CategoryFacts,
  type ContextSource,
  type FactOrigin,
  type FactSource,
  type MergedFacts,
  mergeFacts,
  originIn,
} from "./merge.ts";
import { as_of_ahead_us_max } from "./validate-context.ts";

const [clock_category, clock_field = ""] = clock_hour_fact.split(".");
const hours_a_day = 24;

/** Other facts are stored and may have changed since. */
const submittedSourceNames = ["token", "pulled", "inline"] as const satisfies readonly FactSource[];

/** By agent id. */
export type StoredForAncestors = ReadonlyMap<string, readonly ContextSource[]>;

/**
 * Merges submitted facts with those `stored` now, to decide an action again at `now_us`. Facts keep the age that they
 * had at `decided_us`. Only the clock hour moves on.
 */
export function factsOfNow(
  decided: MergedFacts,
  decided_us: number,
  stored: readonly ContextSource[],
  now_us: number,
  for_ancestors: StoredForAncestors = new Map(),
): MergedFacts {
  const merged = mergeFacts([...stored, ...submittedSources(decided)], decided.not_pulled ?? null);
  const carried: { [category in FactCategoryName]?: CategoryFacts } = {};
  for (const category of factCategoryNames) {
    const found = merged[category];
    if (found !== undefined) carried[category] = carriedOn(found, category, decided_us, Math.max(decided_us, now_us));
  }
  const facts = { ...merged, ...carried };
  const { ancestors } = decided;
  if (ancestors === undefined) return facts;
  const shared = stored.filter(({ source }) => source !== "agent");
  const again = ancestors.map((each) => {
    const own = [...shared, ...(for_ancestors.get(each.id) ?? [])];
    return { ...each, facts: factsOfNow(each.facts, decided_us, own, now_us) };
  });
  return { ...facts, ancestors: again };
}

function submittedSources(decided: MergedFacts): ContextSource[] {
  return factCategoryNames.flatMap((category) => {
    const found = decided[category];
    if (found === undefined) return [];
    return submittedSourceNames.flatMap((source): ContextSource[] => {
      const { unproved } = found;
      if (source === "token" && unproved !== undefined) {
        const received_us = found.origin.as_of_us;
        return [{ source, document: { facts: { [category]: {} } }, received_us, unproved: { [category]: unproved } }];
      }
      const fields = Object.keys(found.values).filter((field) => originIn(found, field).source === source);
      const [first] = fields;
      if (first === undefined) return [];
      const values = Object.fromEntries(fields.map((field) => [field, found.values[field]]));
      const { as_of_us: received_us, assurance } = originIn(found, first);
      // Only a context source can give inexact numbers.
      const inexact = source === "pulled" && found.inexact !== undefined ? { [category]: found.inexact } : undefined;
      return [{ source, document: { facts: { [category]: values } }, received_us, inexact, assurance }];
    });
  });
}

function carriedOn(
  found: CategoryFacts,
  category: FactCategoryName,
  decided_us: number,
  now_us: number,
): CategoryFacts {
  const carry = (origin: FactOrigin): FactOrigin => ({ ...origin, as_of_us: carriedAsOf(origin, decided_us, now_us) });
  const origins: Record<string, FactOrigin> = {};
  for (const [field, origin] of Object.entries(found.origins ?? {})) origins[field] = carry(origin);
  const carried = { ...found, origin: carry(found.origin), origins: found.origins === null ? null : origins };
  const hour = category === clock_category ? found.values[clock_field] : undefined;
  if (typeof hour !== "number" || !Number.isFinite(hour)) return carried;

  const origin = originIn(found, clock_field);
  const { as_of_us } = origin;
  // The hour had ended before the decision, so its value may have been wrong.
  const was_over = hourOf(decided_us) > hourOf(as_of_us);
  const moved = (((hour + hourOf(now_us) - hourOf(as_of_us)) % hours_a_day) + hours_a_day) % hours_a_day;
  const moved_us = Math.max(hourOf(now_us) * us_per_hour, now_us - Math.max(0, decided_us - as_of_us));
  return {
    ...carried,
    values: was_over ? found.values : { ...found.values, [clock_field]: moved },
    origins: { ...origins, [clock_field]: { ...origin, as_of_us: was_over ? as_of_us : moved_us } },
  };
}

/** Returns an as-of time that keeps the fact's age. A fact newer than `decided_us` is as of now. */
function carriedAsOf({ source, as_of_us }: FactOrigin, decided_us: number, now_us: number): number {
  const carried_us = as_of_us + (now_us - decided_us);
  if (submittedSourceNames.some((name) => name === source)) return carried_us;
  // Stays too far ahead, because some clock was wrong.
  return as_of_us > now_us + as_of_ahead_us_max ? as_of_us : Math.min(carried_us, now_us);
}

function hourOf(at_us: number): number {
  return Math.floor(at_us / us_per_hour);
}
