import { pointerToken } from "../../values/json-patch.ts";
import { diagnose, type Located, type PolicyDiagnostic, shown } from "../located.ts";
import type { Schema } from "../schema.ts";
import { collectFindings, type Findings } from "./findings.ts";
import { suggestName } from "./suggest-name.ts";

/**
 * Checks a document against a schema. The help text is the field's description. A validator library gives neither lines
 * nor help.
 */
export function checkSchema(located: Located, schema: Schema): PolicyDiagnostic[] {
  const findings = collectFindings();
  checkPart({ value: located.value, path: "", located, findings, help: null }, schema);
  return findings.list();
}

interface Part {
  readonly value: unknown;
  readonly path: string;
  readonly located: Located;
  readonly findings: Findings;
  /** Help for fields without a description. */
  readonly help: string | null;
}

export function checkPart(part: Part, schema: Schema): void {
  new SchemaChecker(part).check(part.value, schema, part.path);
}

class SchemaChecker {
  private readonly part: Part;

  constructor(part: Part) {
    this.part = part;
  }

  check(value: unknown, schema: Schema, path: string): void {
    if (schema.type !== undefined && !hasType(value, schema.type)) {
      const types = typeof schema.type === "string" ? schema.type : schema.type.join(" or ");
      this.report(path, schema, "wrong_type", `Expected ${article(types)}, found ${nameOf(value)}.`);
    } else if (typeof value === "string") this.checkText(value, schema, path);
    else if (typeof value === "number") this.checkNumber(value, schema, path);
    else if (Array.isArray(value)) this.checkList(value, schema, path);
    else if (typeof value === "object" && value !== null) {
      this.checkObject(value as Record<string, unknown>, schema, path);
    }
  }

  private report(path: string, schema: Schema, code: string, message: string, help?: string, within?: "key"): void {
    const described = schema.description === undefined ? this.part.help : `Expected: ${schema.description}.`;
    const finding = { code, message, help: help ?? described };
    this.part.findings.add(() => diagnose(this.part.located, path, finding, within));
  }

  private checkText(value: string, schema: Schema, path: string): void {
    if (schema.const !== undefined && value !== schema.const)
      this.report(path, schema, "not_allowed", `Expected ${JSON.stringify(schema.const)}.`);
    if (schema.enum !== undefined && !schema.enum.includes(value)) {
      const message = `${shown(value)} is not one of ${schema.enum.join(", ")}.`;
      this.report(path, schema, "not_allowed", message, suggestName(value, schema.enum) ?? undefined);
    }
    if (schema.minLength !== undefined && value.length < schema.minLength)
      this.report(path, schema, "too_short", "The text is too short.");
    else if (schema.maxLength !== undefined && value.length > schema.maxLength) {
      const message = `The text has ${value.length} characters; at most ${schema.maxLength} are allowed.`;
      this.report(path, schema, "too_long", message);
    } else if (schema.pattern !== undefined && !compiled(schema.pattern).test(value)) {
      this.report(path, schema, "bad_format", `${shown(value)} does not have the expected form.`);
    }
  }

  private checkNumber(value: number, schema: Schema, path: string): void {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    if (value < minimum || value > maximum)
      this.report(path, schema, "out_of_range", `${value} is not from ${minimum} to ${maximum}.`);
  }

  private checkList(values: readonly unknown[], schema: Schema, path: string): void {
    if (schema.minItems !== undefined && values.length < schema.minItems)
      this.report(path, schema, "too_short", "The list is too short.");
    if (schema.maxItems !== undefined && values.length > schema.maxItems) {
      const message = `The list has ${values.length} entries; at most ${schema.maxItems} are allowed.`;
      this.report(path, schema, "too_long", message);
      return;
    }
    if (schema.uniqueItems === true && new Set(values).size < values.length)
      this.report(path, schema, "not_allowed", "An entry occurs in the list twice.");
    if (schema.items === undefined) return;
    for (const [index, item] of values.entries()) {
      if (this.part.findings.full()) return;
      this.check(item, schema.items, `${path}/${index}`);
    }
  }

  private checkObject(value: Record<string, unknown>, schema: Schema, path: string): void {
    const properties = schema.properties ?? {};
    const names = Object.keys(value);
    for (const name of schema.required ?? []) {
      if (Object.hasOwn(value, name)) continue;
      const described = properties[name]?.description;
      const help = described === undefined ? undefined : `Add ${name}: ${described}.`;
      this.report(path, schema, "required", `The field ${name} is missing.`, help);
    }
    if (schema.maxProperties !== undefined && names.length > schema.maxProperties)
      this.report(path, schema, "too_many_keys", "The object has too many keys.");
    for (const name of names) {
      if (this.part.findings.full()) return;
      this.checkMember(name, value[name], schema, `${path}/${pointerToken(name)}`);
    }
  }

  private checkMember(name: string, value: unknown, schema: Schema, path: string): void {
    const properties = schema.properties ?? {};
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined) this.check(value, own, path);
    else if (schema.additionalProperties === false) {
      const known = Object.keys(properties);
      const help = suggestName(name, known) ?? `Known fields: ${known.join(", ")}.`;
      this.report(path, schema, "unknown_field", `There is no field ${shown(name)} here.`, help, "key");
    } else if (schema.additionalProperties !== undefined) this.check(value, schema.additionalProperties, path);
    if (schema.propertyNames !== undefined) this.checkText(name, schema.propertyNames, path);
  }
}

const patterns = new Map<string, RegExp>();

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
