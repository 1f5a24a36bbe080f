import type { CatalogueEntry, ParameterType } from "@countersign/contract";
import { visibleText } from "../../parts/visible-text.ts";

type Document = Readonly<Record<string, unknown>>;

export type FieldKind = "text" | "lines" | "number" | "integer" | "boolean" | "json";

/** A parameter of the form. `absent`: the document does not have it. */
export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly absent: boolean;
}

const line_chars_max = 120;

/**
 * Returns a field for each parameter of the action, of the changed document and of the tool's registered schema, in this
 * order. A value of another type than the schema's keeps its own.
 */
export function fieldsOf(content: Document, document: Document, schema: CatalogueEntry["parameters"] = {}): Field[] {
  const names = new Set([...Object.keys(content), ...Object.keys(document), ...Object.keys(schema)]);
  return [...names].map((name) => {
    const absent = !Object.hasOwn(document, name);
    const value = absent ? given(content, name) : document[name];
    const type = Object.hasOwn(schema, name) ? schema[name] : undefined;
    return { name, absent, kind: value === undefined ? kindOfType(type) : kindOf(value, type) };
  });
}

const given = (document: Document, name: string): unknown =>
  Object.hasOwn(document, name) ? document[name] : undefined;

function kindOf(value: unknown, type: ParameterType | undefined): FieldKind {
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "number":
      return type === "integer" ? "integer" : "number";
    case "string":
      // A field would not show hidden characters.
      if (value.split("\n").some((line) => visibleText(line) !== line)) return "json";
      return value.includes("\n") || value.length > line_chars_max ? "lines" : "text";
    default:
      return "json";
  }
}

function kindOfType(type: ParameterType | undefined): FieldKind {
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return type === "string" ? "text" : "json";
}

/** Returns what a parameter begins with when the reviewer adds it. */
export function emptyValue(kind: FieldKind): unknown {
  return { text: "", lines: "", number: 0, integer: 0, boolean: false, json: null }[kind];
}

export function withValue(document: Document, name: string, value: unknown): Document {
  // `JSON.parse` makes `__proto__` an own member; an assignment would not.
  const changed = Object.entries(document).map(([each, before]) => [each, each === name ? value : before]);
  return Object.fromEntries(Object.hasOwn(document, name) ? changed : [...changed, [name, value]]);
}

export function withoutValue(document: Document, name: string): Document {
  return Object.fromEntries(Object.entries(document).filter(([each]) => each !== name));
}
