import {
  type ContextDocument,
  context_contract_version,
  type FactCategoryName,
  type FactField,
  factCategories,
  factCategoryNames,
  type StoredContext,
} from "@countersign/contract";

/** A fact by its path in rules, such as `facts.identity.account_status`. */
export interface FactPlace {
  readonly category: FactCategoryName;
  readonly name: string;
  /** Undefined: a name of the organization's own. */
  readonly field: FactField | undefined;
}

/** Null: the path names no category. */
export function factPlace(path: string): FactPlace | null {
  const [category = "", ...rest] = path.replace(/^facts\./, "").split(".");
  const known = factCategoryNames.find((each) => each === category);
  const name = rest.join(".");
  if (known === undefined || name === "") return null;
  const fields: readonly FactField[] = factCategories[known].fields;
  return { category: known, name, field: fields.find((each) => each.name === name) };
}

/** Returns the other stored facts of the category. They get the time of the new one, because a category has one time. */
export function confirmedWith(stored: StoredContext | null, { category, name }: FactPlace): [string, unknown][] {
  return Object.entries(stored?.document.facts[category] ?? {}).filter(([each]) => each !== name);
}

/** Returns the stored document with one more fact, true at `now`. The other categories keep their times. */
export function mergedFacts(
  stored: StoredContext | null,
  { category, name }: FactPlace,
  value: unknown,
  now: string,
): ContextDocument {
  const facts = stored?.document.facts ?? {};
  const times = Object.keys(facts).map((each) => [
    each,
    stored?.document.as_of?.[each as FactCategoryName] ?? stored?.received_at,
  ]);
  return {
    contract_version: context_contract_version,
    facts: { ...facts, [category]: { ...facts[category], [name]: value } },
    as_of: { ...Object.fromEntries(times), [category]: now },
  };
}

/** Returns the value of a form's text, or undefined if the text has another type than the fact. */
export function factValue(text: string, types: FactField["types"] | undefined): unknown {
  const is = (type: FactField["types"][number]) => types?.includes(type) ?? false;
  if (text.trim() === "") return undefined;
  if (is("string")) return text.trim();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return types === undefined ? text.trim() : undefined;
  }
  if (types === undefined) return value;
  const kind = Array.isArray(value) ? "array" : typeof value === "object" ? "object" : typeof value;
  const fits = types.some((type) => type === kind || (type === "integer" && Number.isInteger(value)));
  return value !== null && fits ? value : undefined;
}
