import { pointerToken } from "../../values/json-patch.ts";
import type { Schema } from "../schema.ts";
import { type PolicyDiagnostic, type SourceDocument, shown } from "../source.ts";
import { collectFindings, type Findings } from "./findings.ts";
import { suggestName } from "./suggest-name.ts";

/**
 * Checks a value against a schema and returns every violation, as far as `findings.ts` lists them, each with the description
 * of the field as its help line.
 * Knows the keywords of `Schema` and no others. Measured against ajv: a policy is checked once per save, and ajv tells
 * neither lines nor what to write instead.
 */
export function checkSchema(source: SourceDocument, schema: Schema): PolicyDiagnostic[] {
  const findings = collectFindings();
  checkPart({ value: source.value, path: "", source, findings, help: null }, schema);
  return findings.list();
}

/** A part of a document; `help` is the help line where a field has no description. */
interface Part {
  readonly value: unknown;
  readonly path: string;
  readonly source: SourceDocument;
  readonly findings: Findings;
  readonly help: string | null;
}

/** The same for a part of a document. */
export function checkPart({ value, path, source, findings, help: fallback }: Part, schema: Schema): void {
  check(value, schema, path);

  function report(path: string, schema: Schema, code: string, message: string, help?: string, at?: "key"): void {
    const described = schema.description === undefined ? fallback : `Expected: ${schema.description}.`;
    findings.add(() => source.at(path, { code, message, help: help ?? described }, at));
  }

  function check(value: unknown, schema: Schema, path: string): void {
    if (schema.type !== undefined && !hasType(value, schema.type)) {
      const types = typeof schema.type === "string" ? schema.type : schema.type.join(" or ");
      report(path, schema, "wrong_type", `Expected ${article(types)}, found ${nameOf(value)}.`);
      return;
    }
    if (typeof value === "string") checkText(value, schema, path);
    else if (typeof value === "number") checkNumber(value, schema, path);
    else if (Array.isArray(value)) checkList(value, schema, path);
    else if (typeof value === "object" && value !== null) checkObject(value as Record<string, unknown>, schema, path);
  }

  function checkText(value: string, schema: Schema, path: string): void {
    if (schema.const !== undefined && value !== schema.const)
      report(path, schema, "not_allowed", `Expected ${JSON.stringify(schema.const)}.`);
    if (schema.enum !== undefined && !schema.enum.includes(value)) {
      report(
        path,
        schema,
        "not_allowed",
        `${shown(value)} is none of ${schema.enum.join(", ")}.`,
        suggestName(value, schema.enum) ?? undefined,
      );
    }
    if (schema.minLength !== undefined && value.length < schema.minLength)
      report(path, schema, "too_short", "The text is too short.");
    else if (schema.maxLength !== undefined && value.length > schema.maxLength) {
      report(
        path,
        schema,
        "too_long",
        `The text has ${value.length} characters; at most ${schema.maxLength} are allowed.`,
      );
    } else if (schema.pattern !== undefined && !compiled(schema.pattern).test(value)) {
      report(path, schema, "bad_format", `${shown(value)} does not have the expected form.`);
    }
  }

  function checkNumber(value: number, schema: Schema, path: string): void {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    if (value < minimum || value > maximum)
      report(path, schema, "out_of_range", `${value} is not from ${minimum} to ${maximum}.`);
  }

  function checkList(values: readonly unknown[], schema: Schema, path: string): void {
    if (schema.minItems !== undefined && values.length < schema.minItems)
      report(path, schema, "too_short", "The list is too short.");
    if (schema.maxItems !== undefined && values.length > schema.maxItems) {
      report(
        path,
        schema,
        "too_long",
        `The list has ${values.length} entries; at most ${schema.maxItems} are allowed.`,
      );
      return;
    }
    if (schema.uniqueItems === true && new Set(values).size < values.length)
      report(path, schema, "not_allowed", "An entry stands in the list twice.");
    const { items } = schema;
    if (items !== undefined)
      for (const [index, item] of values.entries()) {
        if (findings.full()) return;
        check(item, items, `${path}/${index}`);
      }
  }

  function checkObject(value: Record<string, unknown>, schema: Schema, path: string): void {
    const properties = schema.properties ?? {};
    const names = Object.keys(value);
    for (const name of schema.required ?? []) {
      if (Object.hasOwn(value, name)) continue;
      const help = properties[name]?.description;
      report(
        path,
        schema,
        "required",
        `The field ${name} is missing.`,
        help === undefined ? undefined : `Add ${name}: ${help}.`,
      );
    }
    if (schema.maxProperties !== undefined && names.length > schema.maxProperties)
      report(path, schema, "too_many_keys", "The object has too many keys.");
    for (const name of names) {
      if (findings.full()) return;
      const child = `${path}/${pointerToken(name)}`;
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (own !== undefined) check(value[name], own, child);
      else if (schema.additionalProperties === false) {
        const known = Object.keys(properties);
        report(
          child,
          schema,
          "unknown_field",
          `There is no field ${shown(name)} here.`,
          suggestName(name, known) ?? `Known fields: ${known.join(", ")}.`,
          "key",
        );
      } else if (schema.additionalProperties !== undefined) check(value[name], schema.additionalProperties, child);
      if (schema.propertyNames !== undefined) checkText(name, schema.propertyNames, child);
    }
  }
}

const patterns = new Map<string, RegExp>();

/** The patterns are those of our own schemas: there are few of them. */
function compiled(pattern: string): RegExp {
  const regExp = patterns.get(pattern) ?? new RegExp(pattern, "u");
  patterns.set(pattern, regExp);
  return regExp;
}

function hasType(value: unknown, type: NonNullable<Schema["type"]>): boolean {
  if (typeof type !== "string") return type.some((one) => hasType(value, one));
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return type === "integer" ? Number.isInteger(value) : typeof value === type;
}

function nameOf(value: unknown): string {
  if (value === null) return "null";
  return article(Array.isArray(value) ? "array" : typeof value);
}

function article(type: string): string {
  return `${/^[aeio]/.test(type) ? "an" : "a"} ${type}`;
}
