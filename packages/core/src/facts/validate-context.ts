import {
  context_contract_version,
  type FactCategoryName,
  type FactConstraint,
  type FactField,
  type FactType,
  fact_key_pattern,
  factCategories,
  factCategoryNames,
  limits,
  type Problem,
  type ProblemCode,
  usStateCodes,
  type Warning,
} from "@countersign/contract";
import { suggestName } from "../policy/check/suggest-name.ts";
import { parseIsoTimeUs, us_per_second } from "../time.ts";
import { clipText } from "../values/clip-text.ts";
import { pointerToken } from "../values/json-patch.ts";

// Maps, because plain objects contain `constructor`, which is a legal fact key. Types are bits, so a check is one
// look-up and one AND. TypeBox would need 125 µs for its error objects alone, against 2.1 µs for 10 facts.

const typeBits: Record<FactType, number> = { string: 1, number: 2, integer: 4, boolean: 8, object: 16, array: 32 };

interface FieldRule {
  readonly field: FactField;
  readonly type_bits: number;
}

const rules = new Map<string, ReadonlyMap<string, FieldRule>>(
  factCategoryNames.map((category) => [category, new Map(factCategories[category].fields.map(fieldRule))]),
);

function fieldRule(field: FactField): [string, FieldRule] {
  return [field.name, { field, type_bits: field.types.reduce((bits, type) => bits | typeBits[type], 0) }];
}

/** Refused, because a text such as 20260131 may mean something else. */
const other_forms = "the basic, week and ordinal forms of ISO 8601 are not accepted";

const keyPattern = new RegExp(fact_key_pattern);
const usStates: ReadonlySet<string> = new Set(usStateCodes);
const twoLetters = /^[A-Za-z]{2}$/;
const topLevelFields: ReadonlySet<string> = new Set(["contract_version", "facts", "as_of"]);

export const as_of_ahead_us_max = limits.as_of_ahead_seconds_max * us_per_second;

/** Valid exactly if `errors` is empty. */
export interface ContextFindings {
  readonly errors: readonly Problem[];
  readonly warnings: readonly Warning[];
}

/** Returns errors (at most 50) and warnings in document order. Coerces nothing, never throws. Source: spec §2.9. */
export function validateContext(document: unknown, now_us: number): ContextFindings {
  const errors = contextErrors(document, now_us);
  return { errors, warnings: errors.length === 0 ? warningsOf(document as ValidDocument, now_us) : [] };
}

/** For the decision path. */
export function contextErrors(document: unknown, now_us: number): readonly Problem[] {
  const problems: Problem[] = [];
  if (!isObjectAt(problems, [], document)) return problems;
  for (const key of Object.keys(document)) {
    if (!topLevelFields.has(key)) report(problems, [key], "unknown_field", "the document has no such field");
  }
  checkVersion(problems, ownValue(document, "contract_version"));
  checkFacts(problems, ownValue(document, "facts"));
  checkAsOf(problems, ownValue(document, "as_of"), now_us);
  return problems;
}

function checkVersion(problems: Problem[], version: unknown): void {
  if (version === context_contract_version) return;
  const wanted = `contract_version is the text "${context_contract_version}"`;
  if (version === undefined) report(problems, ["contract_version"], "required", `${wanted}, and required`);
  else if (typeof version === "string") report(problems, ["contract_version"], "not_allowed", wanted);
  else report(problems, ["contract_version"], "wrong_type", `${wanted}, not ${named(version)}`);
}

function checkFacts(problems: Problem[], facts: unknown): void {
  if (facts === undefined) report(problems, ["facts"], "required", "facts is required");
  if (facts === undefined || !isObjectAt(problems, ["facts"], facts)) return;
  for (const category of Object.keys(facts)) {
    const categoryRules = rules.get(category);
    const values = ownValue(facts, category);
    if (categoryRules === undefined) {
      report(problems, ["facts", category], "unknown_field", `facts has only ${factCategoryNames.join(", ")}`);
    } else if (isObjectAt(problems, ["facts", category], values)) {
      checkCategory(problems, category, categoryRules, values);
    }
  }
}

function checkCategory(
  problems: Problem[],
  category: string,
  categoryRules: ReadonlyMap<string, FieldRule>,
  values: Record<string, unknown>,
): void {
  const keys = Object.keys(values);
  if (keys.length > limits.context_keys_per_category_max) {
    const said = `${category} has ${keys.length} keys; at most ${limits.context_keys_per_category_max} are allowed`;
    report(problems, ["facts", category], "too_many_keys", said);
  }
  for (const key of keys) {
    const rule = categoryRules.get(key);
    if (rule !== undefined) checkFact(problems, category, rule, values[key]);
    else if (!keyPattern.test(key)) {
      report(problems, ["facts", category, key], "bad_key", `a key of ${category} matches ${fact_key_pattern}`);
    }
    if (problems.length >= limits.error_details_max) return;
  }
}

function checkFact(problems: Problem[], category: string, rule: FieldRule, value: unknown): void {
  if (value === null) return;
  const { field } = rule;
  if ((typeBitsOf(value) & rule.type_bits) === 0) {
    const said = `${field.name} takes ${field.types.join(" or ")}, not ${named(value)}`;
    report(problems, ["facts", category, field.name], "wrong_type", said);
  } else if (field.constraint !== undefined) {
    const broken = brokenConstraint(field.constraint, value);
    if (broken === null) return;
    report(problems, ["facts", category, field.name], broken.code, `${field.name} ${broken.said}`);
  }
}

function brokenConstraint(constraint: FactConstraint, value: unknown): { code: ProblemCode; said: string } | null {
  switch (constraint.kind) {
    case "integer_range": {
      const { min, max } = constraint;
      const inside = typeof value === "number" && value >= min && value <= max;
      return inside ? null : { code: "out_of_range", said: `is ${min} to ${max}` };
    }
    case "one_of": {
      const allowed = typeof value === "string" && constraint.values.includes(value);
      return allowed ? null : { code: "not_allowed", said: `is one of ${constraint.values.join(", ")}` };
    }
    case "us_state": {
      const known = typeof value === "string" && twoLetters.test(value) && usStates.has(value.toUpperCase());
      return known ? null : { code: "not_allowed", said: "is a two-letter USPS state code" };
    }
    case "iso_date":
      return typeof value === "string" && isIsoDate(value)
        ? null
        : { code: "bad_format", said: `is a date such as 2026-01-31, or a date-time with time zone; ${other_forms}` };
  }
}

function isIsoDate(text: string): boolean {
  return parseIsoTimeUs(text.length === 10 ? `${text}T00:00:00Z` : text) !== null;
}

function checkAsOf(problems: Problem[], asOf: unknown, now_us: number): void {
  if (asOf === undefined || !isObjectAt(problems, ["as_of"], asOf)) return;
  for (const category of Object.keys(asOf)) {
    const time = ownValue(asOf, category);
    if (!rules.has(category)) {
      report(problems, ["as_of", category], "unknown_field", `as_of has only ${factCategoryNames.join(", ")}`);
    } else if (typeof time !== "string") {
      report(problems, ["as_of", category], "wrong_type", `as_of of ${category} takes string, not ${named(time)}`);
    } else {
      checkTime(problems, category, time, now_us);
    }
  }
}

function checkTime(problems: Problem[], category: string, time: string, now_us: number): void {
  const at_us = parseIsoTimeUs(time);
  if (at_us === null) {
    const said = `is a date-time of the calendar with time zone, such as 2026-01-31T10:00:00Z; ${other_forms}`;
    report(problems, ["as_of", category], "bad_format", `as_of of ${category} ${said}`);
  } else if (at_us > now_us + as_of_ahead_us_max) {
    report(problems, ["as_of", category], "in_the_future", `as_of of ${category} is more than 5 minutes ahead`);
  }
}

type ByCategory<T> = { readonly [category in FactCategoryName]?: T };

interface ValidDocument {
  readonly facts: ByCategory<Record<string, unknown>>;
  readonly as_of?: ByCategory<string>;
}

function warningsOf(document: ValidDocument, now_us: number): Warning[] {
  const warnings: Warning[] = [];
  for (const category of factCategoryNames) {
    const values = ownValue(document.facts, category);
    const time = document.as_of === undefined ? undefined : ownValue(document.as_of, category);
    if (time !== undefined) warnOfTime(warnings, category, time as string, values !== undefined, now_us);
    for (const key of Object.keys((values as object | undefined) ?? {})) {
      if (!rules.get(category)?.has(key)) warnOfKey(warnings, category, key);
    }
  }
  return warnings.slice(0, limits.error_details_max);
}

function warnOfTime(warnings: Warning[], category: FactCategoryName, time: string, hasFacts: boolean, now_us: number) {
  const path = pointer(["as_of", category]);
  const { max_age_seconds } = factCategories[category];
  if (!hasFacts) {
    warnings.push({ path, code: "unlisted_category_time", message: `there are no ${category} facts` });
  } else if (now_us - (parseIsoTimeUs(time) ?? now_us) > max_age_seconds * us_per_second) {
    const message = `${category} facts older than ${max_age_seconds} seconds count as missing by default`;
    warnings.push({ path, code: "stale", message });
  }
}

function warnOfKey(warnings: Warning[], category: FactCategoryName, key: string): void {
  const path = pointer(["facts", category, key]);
  const home = factCategoryNames.find((name) => rules.get(name)?.has(key));
  const suggestion = home === undefined ? suggestName(key, [...(rules.get(category)?.keys() ?? [])]) : null;
  if (home !== undefined) {
    warnings.push({ path, code: "other_category", message: `${key} is a listed fact of ${home}` });
  } else if (suggestion !== null)
    warnings.push({ path, code: "similar_key", message: `${key} is not listed. ${suggestion}` });
}

/** Writes `recipient_state` in upper case. Returns the same object if unchanged. */
export function normalizeContext<D extends { readonly facts: ByCategory<Record<string, unknown>> }>(document: D): D {
  let facts: ByCategory<Record<string, unknown>> = document.facts;
  for (const category of ["environmental", "regulatory"] as const) {
    const values = facts[category];
    const state = values === undefined ? undefined : ownValue(values, "recipient_state");
    if (typeof state !== "string" || state === state.toUpperCase()) continue;
    facts = { ...facts, [category]: { ...values, recipient_state: state.toUpperCase() } };
  }
  return facts === document.facts ? document : { ...document, facts };
}

/** Reports anything but an object, including arrays. */
function isObjectAt(problems: Problem[], path: readonly string[], value: unknown): value is Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return true;
  report(problems, path, "wrong_type", `${path.at(-1) ?? "the document"} is ${named(value)}, not an object`);
  return false;
}

function ownValue(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}

function typeBitsOf(value: unknown): number {
  switch (typeof value) {
    case "string":
      return typeBits.string;
    case "number":
      if (Number.isInteger(value)) return typeBits.number | typeBits.integer;
      // 1e400 is valid JSON but reads as Infinity.
      return Number.isFinite(value) ? typeBits.number : 0;
    case "boolean":
      return typeBits.boolean;
    case "object":
      return Array.isArray(value) ? typeBits.array : typeBits.object;
    default:
      return 0;
  }
}

function named(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "array";
  if (typeof value !== "number") return typeof value;
  return Number.isFinite(value) ? "number" : "a number too large";
}

function report(problems: Problem[], path: readonly string[], code: ProblemCode, message: string): void {
  if (problems.length < limits.error_details_max) problems.push({ path: pointer(path), code, message });
}

// Keys may be megabytes long.
const pointer_part_chars_max = 100;

function pointer(path: readonly string[]): string {
  return path.map((part) => `/${pointerToken(shortened(part))}`).join("");
}

function shortened(part: string): string {
  return part.length <= pointer_part_chars_max ? part : `${clipText(part, pointer_part_chars_max)}…`;
}
