/** Fills in forms and arguments. */

type Value = string | number | boolean | string[];

interface Field {
  readonly type?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly oneOf?: readonly { readonly const: string }[];
  readonly anyOf?: readonly { readonly const: string }[];
  readonly items?: Field;
  readonly format?: string;
}

/** Gives each field its default, its first choice, or a value of its type. */
export function filled(schema: { readonly properties?: unknown }): Record<string, Value> {
  const fields = (schema.properties ?? {}) as Readonly<Record<string, Field>>;
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueFor(field)]));
}

const formats: Readonly<Record<string, string>> = {
  email: "ann@example.com",
  uri: "https://example.com",
  date: "2026-01-01",
};

function valueFor(field: Field): Value {
  if (field.default !== undefined) return field.default as Value;
  if (field.type === "array") return [valueFor(field.items ?? {})].map(String);
  const choice = field.enum?.[0] ?? field.oneOf?.[0]?.const ?? field.anyOf?.[0]?.const;
  if (choice !== undefined) return choice;
  if (field.type === "boolean") return true;
  if (field.type === "number" || field.type === "integer") return 1;
  return formats[field.format ?? ""] ?? "some text";
}
