/** Writes the Python client's types of requests and answers from the schemas of openapi.json. */
import { openapiDocument } from "@countersign/contract";

/** Types that the client names. Types that these refer to are written, too. */
const named = ["IntentSubmission", "SubmitAnswer", "BatchItem", "BatchAnswer", "Observation", "EventBody"];
/** Its answer has no name in openapi.json. */
const unnamed = { name: "IntentAnswer", path: "/v1/intents/{intent_id}" };

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly $ref?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly propertyNames?: unknown;
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<
    Record<string, { get: { responses: Record<string, { content: { "application/json": { schema: Schema } } }> } }>
  >;
}

const { components, paths } = openapiDocument() as unknown as Document;

/** A longer list of values, such as that of error codes, grows with the service. */
const literals_max = 8;

export function pythonContract(): string {
  const classes = new Map<string, string>();
  for (const name of named) typeOf({ $ref: name }, name, classes);
  const answer = paths[unnamed.path]?.get.responses["200"]?.content["application/json"].schema ?? {};
  typeOf(answer, unnamed.name, classes);
  return [
    '"""Types of requests and answers. Written by `npm run gen` from packages/contract. Do not change this file."""',
    "",
    "from typing import Any, Dict, List, Literal, TypedDict, Union",
    ...[...classes.values()].flatMap((text) => ["", "", text]),
    "",
  ].join("\n");
}

/** Returns a type expression. Adds the classes that the expression refers to, each after those that it needs. */
function typeOf(schema: Schema, name: string, classes: Map<string, string>): string {
  if (schema.$ref !== undefined) {
    const target = schema.$ref.split("/").at(-1) ?? "";
    return typeOf(components.schemas[target] as Schema, target, classes);
  }
  if (schema.anyOf !== undefined) {
    const types = schema.anyOf.flatMap((each, at) => {
      const type = typeOf(each, at === 0 ? name : `${name}${at}`, classes);
      return /^Union\[(.*)\]$/.exec(type)?.[1] ?? type;
    });
    return `Union[${types.join(", ")}]`;
  }
  const values = schema.const === undefined ? schema.enum : [schema.const];
  if (values !== undefined) return values.length > literals_max ? "str" : `Literal[${values.map(literal).join(", ")}]`;
  if (schema.type === "array") return `List[${typeOf(schema.items ?? {}, name, classes)}]`;
  if (schema.type === "object" && !isOpen(schema)) return classOf(schema, name, classes);
  const types: Record<string, string> = {
    string: "str",
    integer: "int",
    number: "float",
    boolean: "bool",
    null: "None",
    object: "Dict[str, Any]",
  };
  return types[schema.type ?? ""] ?? "Any";
}

const literal = (value: unknown): string =>
  typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);

/** Whether callers may add members, which a TypedDict would refuse. */
const isOpen = ({ properties, additionalProperties, propertyNames }: Schema): boolean =>
  properties === undefined || propertyNames !== undefined || (additionalProperties ?? false) !== false;

/** A TypedDict has required or optional members, so a class with both has a base. `NotRequired` needs Python 3.11. */
function classOf(schema: Schema, name: string, classes: Map<string, string>): string {
  if (classes.has(name)) return name;
  const members = Object.entries(schema.properties ?? {}).map(([member, each]) => {
    const text = `    ${member}: ${typeOf(each, name + pascalCase(member), classes)}`;
    return { text, needed: schema.required?.includes(member) === true };
  });
  const lines = (needed: boolean) => members.filter((each) => each.needed === needed).map(({ text }) => text);
  const [required, optional] = [lines(true), lines(false)];
  const base = required.length > 0 && optional.length > 0 ? `_${name}Required` : "TypedDict";
  const main = [
    `class ${name}(${base}${required.length === 0 || base !== "TypedDict" ? ", total=False" : ""}):`,
    ...(optional.length > 0 ? optional : required),
  ];
  const first = base === "TypedDict" ? [] : [`class ${base}(TypedDict):`, ...required, "", ""];
  classes.set(name, [...first, ...main].join("\n"));
  return name;
}

const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
