/**
 * Writes the JSON Schema of OCSF's class API Activity with chosen profiles, from the files of a clone of
 * https://github.com/ocsf/ocsf-schema. Like the schema server of OCSF, it refuses attributes that the class does not have.
 *
 *   npx tsx test/data/ocsf/resolve-class.ts CLONE COMMIT > test/data/ocsf/api-activity-1.8.0.schema.json
 */
import { execFileSync } from "node:child_process";

type Json = { [name: string]: unknown };
interface Attribute extends Json {
  readonly requirement?: string;
  readonly type?: string;
  readonly is_array?: boolean;
  readonly enum?: Json;
  readonly profile?: string | null;
}
interface Item extends Json {
  readonly extends?: string;
  readonly attributes: Record<string, Attribute>;
  readonly constraints?: { readonly at_least_one?: string[]; readonly just_one?: string[] };
}

const [, , clone = "", commit = ""] = process.argv;
const profiles = new Set(["datetime", "security_control", "ai_operation"]);
const git = (...args: string[]) => execFileSync("git", ["-C", clone, ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
const read = (path: string): Item => JSON.parse(git("show", `${commit}:${path}`)) as Item;
const files = git("ls-tree", "-r", "--name-only", commit).split("\n");
const dictionary = read("dictionary.json") as unknown as {
  attributes: Record<string, Attribute>;
  types: { attributes: Record<string, Json> };
};

/** Attributes that a file includes, with those of chosen profiles. */
function included(attributes: Record<string, unknown>): Record<string, Attribute> {
  const { $include = [], ...own } = attributes as { $include?: string | string[] } & Record<string, Attribute>;
  const merged: Record<string, Attribute> = {};
  for (const path of [$include].flat()) {
    const profile = read(path) as Item & { name?: string };
    if (!profiles.has(String(profile.name))) continue;
    for (const [name, attribute] of Object.entries(included(profile.attributes)))
      merged[name] = { ...merged[name], ...attribute };
  }
  for (const [name, attribute] of Object.entries(own)) merged[name] = { ...merged[name], ...attribute };
  return merged;
}

/** The attributes of an item and of what it extends. `find` returns the path of an item. */
function resolved(name: string, find: (name: string) => string): Pick<Item, "attributes" | "constraints"> {
  const item = read(find(name));
  const base = item.extends === undefined || item.extends === name ? { attributes: {} } : resolved(item.extends, find);
  const attributes: Record<string, Attribute> = { ...base.attributes };
  for (const [each, attribute] of Object.entries(included(item.attributes)))
    attributes[each] = { ...attributes[each], ...attribute, enum: { ...attributes[each]?.enum, ...attribute.enum } };
  const constraints = item.constraints ?? base.constraints;
  return constraints === undefined ? { attributes } : { attributes, constraints };
}

const inFolder = (folder: string) => (name: string) => {
  const found = files.find((path) => path.startsWith(`${folder}/`) && path.endsWith(`/${name}.json`));
  if (found === undefined) throw new Error(`${commit} has no ${folder}/${name}.json`);
  return found;
};
const findObject = inFolder("objects");
const definitions: Record<string, Json> = {};

function typeSchema(type: string): Json {
  const known = dictionary.types.attributes[type];
  if (known === undefined) return objectReference(type);
  const base = String(known["type"] ?? type);
  const pattern = typeof known["regex"] === "string" ? { pattern: known["regex"] } : {};
  const length = typeof known["max_len"] === "number" ? { maxLength: known["max_len"] } : {};
  if (base === "string_t") return { type: "string", ...pattern, ...length };
  if (base === "integer_t" || base === "long_t") return { type: "integer" };
  if (base === "boolean_t") return { type: "boolean" };
  return base === "float_t" ? { type: "number" } : {};
}

function objectReference(name: string): Json {
  // As is: an object with any members.
  if (name === "object") return { type: "object" };
  if (definitions[name] === undefined) {
    definitions[name] = {};
    definitions[name] = schemaOf(resolved(name, findObject));
  }
  return { $ref: `#/$defs/${name}` };
}

function attributeSchema(name: string, attribute: Attribute): Json {
  const general = dictionary.attributes[name] ?? {};
  const { type = "string_t", is_array = false }: Attribute = { ...general, ...attribute };
  const codes = { ...(general.enum ?? {}), ...(attribute.enum ?? {}) };
  const integer = ["integer_t", "long_t"].includes(type);
  const listed = Object.keys(codes).length === 0 ? {} : { enum: Object.keys(codes).map((code) => (integer ? Number(code) : code)) };
  const schema = { ...typeSchema(type), ...listed };
  return is_array ? { type: "array", items: schema } : schema;
}

function schemaOf({ attributes, constraints }: Pick<Item, "attributes" | "constraints">): Json {
  const properties: Json = {};
  const required: string[] = [];
  for (const [name, attribute] of Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (typeof attribute.profile === "string" && !profiles.has(attribute.profile)) continue;
    properties[name] = attributeSchema(name, attribute);
    const type = attribute.type ?? dictionary.attributes[name]?.type;
    if (type === "timestamp_t") properties[`${name}_dt`] = typeSchema("datetime_t");
    if (attribute.requirement === "required") required.push(name);
  }
  const oneOf = (names: string[]) => names.map((each) => ({ required: [each] }));
  return {
    type: "object",
    properties,
    required,
    additionalProperties: false,
    ...(constraints?.at_least_one === undefined ? {} : { anyOf: oneOf(constraints.at_least_one) }),
    ...(constraints?.just_one === undefined ? {} : { oneOf: oneOf(constraints.just_one) }),
  };
}

const findEvent = inFolder("events");
const event = schemaOf(resolved("api_activity", (name) => (name === "base_event" ? "events/base_event.json" : findEvent(name))));
const { version } = JSON.parse(git("show", `${commit}:version.json`)) as { version: string };
const properties = event["properties"] as Json;
properties["class_uid"] = { const: 6003 };
properties["category_uid"] = { const: 6 };
properties["type_uid"] = { enum: [0, 1, 2, 3, 4, 99].map((activity) => 600_300 + activity) };
const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: `https://schema.ocsf.io/${version}/classes/api_activity`,
  $comment: `OCSF ${version}, commit ${commit}, Apache License 2.0. Profiles: ${[...profiles].join(", ")}. Written by resolve-class.ts.`,
  ...event,
  $defs: Object.fromEntries(Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1))),
};
process.stdout.write(`${JSON.stringify(schema)}\n`);
