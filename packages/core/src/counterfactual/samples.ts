import { type FactField, factCategories } from "@countersign/contract";
import { contextErrors } from "../facts/validate-context.ts";
import { formatTimestampUs, us_per_day } from "../time.ts";
import type { ChangePlace } from "./change.ts";

const value_chars_max = 256;

/**
 * Returns values for a function that asks for evidence. None for functions that check the law or the hour, because no
 * caller can change those.
 */
export function argumentSamples(name: string, now_us: number): readonly unknown[] {
  const date = (us: number): string => formatTimestampUs(us).slice(0, 10);
  switch (name) {
    case "documented":
    case "known":
      return [true, "on file", 1, { on_file: true }, ["on file"]];
    case "tls":
      return ["1.2", "1.3"];
    case "daysSince":
    case "withinMonths":
      return [date(now_us)];
    case "nowBefore":
      return [date(now_us + 30 * us_per_day)];
    case "consentState":
      return ["granted", true];
    case "optedOut":
    case "optOutKnown":
    case "flagged":
      return [false];
    default:
      return [];
  }
}

/** Values by the fact's type; none for parameters. */
export function presenceSamples(place: ChangePlace): readonly unknown[] {
  if (place.kind === "param") return [];
  const fields: readonly FactField[] = factCategories[place.fact.category].fields;
  const field = fields.find(({ name }) => name === place.fact.field);
  if (field === undefined) return [];
  if (field.constraint?.kind === "one_of") return field.constraint.values;
  return field.types.includes("boolean") ? [true, false] : [];
}

/** True if an answer may contain this value. For facts, a context document must be able to hold it. */
export function isPossible(place: ChangePlace, value: unknown, now_us: number): boolean {
  if (value === undefined || value === null || JSON.stringify(value).length > value_chars_max) return false;
  if (place.kind === "param") return true;
  const { category, field } = place.fact;
  return contextErrors({ contract_version: "1", facts: { [category]: { [field]: value } } }, now_us).length === 0;
}
