/** Builds nearly valid requests from the contract's schemas, with a place or two broken. */
import { BatchItem, ContextDocument, type IdKind, idPattern, idPrefixes } from "@countersign/contract";
import { policySchema } from "@countersign/core";
import fc from "fast-check";

export interface Schema {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
}

export type Pool = Partial<Record<IdKind, readonly string[]>>;

/** Marks text that JSON.stringify cannot write. `jsonText` inserts it unchanged. */
const raw = (text: string): string => `\ue000${text}\ue000`;

/** Writes JSON with the raw texts in place. */
export function jsonText(value: unknown): string {
  return (JSON.stringify(value) ?? "").replaceAll(/"\ue000(.*?)\ue000"/g, (_, text: string) => JSON.parse(`"${text}"`));
}

const distinct = (length: number, from = 0x20000) =>
  Array.from({ length }, (_, n) => String.fromCodePoint(from + ((n * 7_919) % 40_000))).join("");

/** Times at and beyond the limits of calendars, PostgreSQL and RFC 3339. */
const oddTimes = [
  "0000-01-01T00:00:00Z",
  "0000-01-01T00:00:00+23:59",
  "0001-01-01T00:00:00+15:59",
  "9999-12-31T23:59:59.999999Z",
  "9999-12-31T23:59:59-23:59",
  "2026-01-01T00:00:00+16:00",
  "2016-12-31T23:59:60Z",
  "2026-02-30T00:00:00Z",
  "2026-01-01t00:00:00z",
  "2026-01-01 00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "-0001-01-01T00:00:00Z",
  "2026-01-01T00:00:00.123456789Z",
];

const base64url = (text: string) => Buffer.from(text, "utf8").toString("base64url");

export const oddCursors = [
  ...Object.values(idPrefixes).flatMap((prefix) => [`${prefix}\0`, `${prefix}${"0".repeat(26)}`, `${prefix}é`]),
  ...["\0", "9999999999999999", "99999999999999999999", "-1", "1", "security", `int_${"Z".repeat(26)}`],
].map(base64url);

const junk: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 2 ** 53, "", " ", "x", [], {}, [[]], [null], [{}]],
  ...["1e308", "-1e308", "1e-400", "-0", "1e400", "9223372036854775808", "0.1e-7", "1".repeat(400)].map(raw),
  ...['"\\ud800"', '"\\udc00x"', '"a\\u0000b"'].map(raw),
  ...["\u001e\u001f", "\u202e\u200b\u2028", "\ufffe\uffff", "'; drop table intents; --", "%00", "../..", "{{x}}", "$1"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "0", "-", "~2", "//"],
  ...["a".repeat(129), "a".repeat(5_000), distinct(128), distinct(1_024), "٣", "NaN", "Infinity", "null"],
  ...oddTimes,
  { constructor: { prototype: { admin: true } }, toString: "x", valueOf: [], toJSON: 1, length: -1 },
  { "": "", " ": 1, "\u001f": 2, "a/b~": 3, [distinct(200)]: 4 },
  Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`key_${n}`, n])),
  Array.from({ length: 250 }, (_, n) => n),
  raw(`${"[".repeat(33)}${"]".repeat(33)}`),
  raw('{"__proto__":{"admin":true}}'),
];

const kindOfPattern = new Map((Object.keys(idPrefixes) as IdKind[]).map((kind) => [idPattern(kind), kind]));
/** One text for each pattern of the tables that is not an identifier. */
const ofPattern: readonly string[] = [
  "a",
  "pay.vendor",
  "security",
  "x-1",
  "some text",
  "2h",
  "params.amount > 5",
  "CA",
];
const full = new Map<string, object>([
  ["BatchItem", BatchItem],
  ["ContextDocument", ContextDocument],
]);

/** Returns mostly valid values for the schema; `documents` supply whole policies. */
export function fitting(schema: Schema, pool: Pool, documents: readonly object[]): fc.Arbitrary<unknown> {
  const inner = (each: Schema) => fitting(each, pool, documents);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(inner));
  const later = schema.title === undefined ? undefined : full.get(schema.title);
  if (later !== undefined && schema.type === undefined) return inner(later as Schema);
  switch (schema.type) {
    case "object":
      return objects(schema, pool, documents);
    case "array":
      return fc.array(inner(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 3 });
    case "string":
      return texts(schema, pool);
    case "integer":
    case "number": {
      const { minimum = -5, maximum = 1_000 } = schema;
      return fc.constantFrom(minimum, maximum, Math.min(Math.max(1, minimum), maximum));
    }
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objects(schema: Schema, pool: Pool, documents: readonly object[]): fc.Arbitrary<unknown> {
  const { properties, required = [] } = schema;
  if (properties === undefined)
    return fc.dictionary(fc.constantFrom("amount", "to", "a/b", "constructor"), fc.jsonValue());
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [
      name,
      name === "policy" || name === "policies"
        ? fc.constantFrom(...documents.map((document) => (name === "policy" ? document : [document])))
        : name === "tests" && each.type === "array"
          ? fc.array(fitting(policyTest, pool, documents), { maxLength: 2 })
          : fitting(each, pool, documents),
    ]),
  );
  return fc.record(members, { requiredKeys: [...required] });
}

const policyTest = (policySchema as Schema).properties?.["tests"]?.items as Schema;

function texts({ pattern, format, minLength = 0, maxLength = 200 }: Schema, pool: Pool): fc.Arbitrary<string> {
  const kind = pattern === undefined ? undefined : kindOfPattern.get(pattern);
  if (kind !== undefined) return fc.constantFrom(...(pool[kind] ?? []), `${idPrefixes[kind]}${"0".repeat(26)}`);
  const mostly = (usual: readonly string[], odd: readonly string[]) =>
    fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: fc.constantFrom(...odd) });
  if (format === "date-time") return mostly(["2026-11-01T00:00:00Z", "2027-01-01T00:00:00+02:00"], oddTimes);
  if (format === "email") return fc.constantFrom("someone@example.com", `${"a".repeat(64)}@example.com`);
  if (pattern !== undefined && pattern !== "\\S")
    return fc.constantFrom(...ofPattern.filter((text) => new RegExp(pattern).test(text)), "x");
  const fits = ["a", "agent-1", "reviewer", "https://hooks.example.com/x", "payment.transfer", "ünïcödé 😀"];
  const lengths = [minLength, maxLength, maxLength + 1].map((length) => "m".repeat(Math.min(length, 12_000)));
  return mostly(fits, [...lengths, distinct(Math.min(maxLength, 3_000))]);
}

type Path = readonly (string | number)[];

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, member]) => pathsOf(member, [...at, key]))];
}

/** Replaces, removes or adds one place of the value. The result shares the rest. */
function broken(
  value: unknown,
  path: Path,
  with_: { readonly how: "replace" | "remove" | "add"; readonly junk: unknown },
): unknown {
  const [name, ...rest] = path;
  if (name === undefined) {
    if (with_.how !== "add" || typeof value !== "object" || value === null) return with_.junk;
    const key = typeof with_.junk === "string" ? with_.junk : "unknown_field";
    return Array.isArray(value)
      ? [...value, with_.junk]
      : Object.fromEntries([...Object.entries(value), [key, with_.junk]]);
  }
  if (Array.isArray(value))
    return value.map((each, index) => (index === Number(name) ? broken(each, rest, with_) : each));
  const entries = Object.entries(value as object);
  if (rest.length === 0 && with_.how === "remove") return Object.fromEntries(entries.filter(([key]) => key !== name));
  return Object.fromEntries(entries.map(([key, each]) => [key, key === name ? broken(each, rest, with_) : each]));
}

export function nearly(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const how = fc.constantFrom("replace", "remove", "add" as const);
  const harm = fc.record({ place: fc.nat(), how, junk: fc.constantFrom(...junk) });
  return fc
    .tuple(value, fc.oneof(fc.constant([]), fc.array(harm, { minLength: 1, maxLength: 2 })))
    .map(([whole, harms]) =>
      harms.reduce((left, { place, ...with_ }) => {
        const paths = pathsOf(left);
        return broken(left, paths[place % paths.length] as Path, with_ as Parameters<typeof broken>[2]);
      }, whole),
    );
}

export function parameter(name: string, schema: Schema, pool: Pool): fc.Arbitrary<readonly string[]> {
  // No test waits here: only the parsing of the number matters.
  if (name === "wait") return fc.constantFrom("0", "0.0", "56", "-1", "0.5", "x").map((text) => [text]);
  const odd = [
    "",
    "\0",
    "a\0b",
    "1e3",
    "-1",
    "0",
    "201",
    "1.0",
    "0x10",
    "99999999999999999999",
    distinct(128),
    "constructor",
  ];
  const own =
    name === "cursor"
      ? oddCursors
      : schema.format === "date-time"
        ? oddTimes
        : name === "limit"
          ? ["1", "200", "201"]
          : [];
  const one = fc.oneof(
    { weight: 3, arbitrary: fitting(schema, pool, [{}]).map(String) },
    { weight: 2, arbitrary: fc.constantFrom("%00", "%ff", "%", ...odd, ...own) },
    { weight: own.length > 0 ? 6 : 0, arbitrary: fc.constantFrom(...own, "x") },
  );
  return fc.oneof({ weight: 12, arbitrary: one.map((text) => [text]) }, { weight: 1, arbitrary: fc.tuple(one, one) });
}
