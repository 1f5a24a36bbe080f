/**
 * Compiles each schema twice. One check stops at the first problem and runs on every request. The other collects all
 * problems of failed requests of limited size: a 1 MiB list of wrong items takes it 950 ms.
 */
import { limits, name_pattern, nameProblem, type Problem, type ProblemCode } from "@countersign/contract";
import { type FaultDetail, parseTimestampUs, pointerPart } from "@countersign/core";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

const settings = {
  ...{ coerceTypes: false, removeAdditional: false, useDefaults: false, strict: false },
  // Messages name the invalid character of the value.
  verbose: true,
} as const;
const first = new Ajv2020(settings);
const all = new Ajv2020({ ...settings, allErrors: true });
for (const ajv of [first, all]) {
  formats.default(ajv, ["date", "email", "uri"]);
  // The package's own format accepts a space for the T, and offsets without a colon.
  ajv.addFormat("date-time", (text) => parseTimestampUs(text) !== null);
}

/** Returns at most 50 problems, or null. `bytes`: the approximate size as received. */
export type Check = (value: unknown, bytes: number) => FaultDetail[] | null;

/** At first use, because compiling all schemas at the start took 0.25 s. */
export function compileCheck(schema: object): Check {
  let valid: ValidateFunction | undefined;
  let collecting: ValidateFunction | undefined;
  return (value, bytes) => {
    valid ??= first.compile(schema);
    if (valid(value)) return null;
    if (bytes > limits.problems_collected_bytes_max) return problemsOf(valid.errors ?? []);
    collecting ??= all.compile(schema);
    collecting(value);
    return problemsOf(collecting.errors ?? valid.errors ?? []);
  };
}

function problemsOf(errors: readonly ErrorObject[]): FaultDetail[] {
  const problems = new Map<string, Problem>();
  // The `null` branch, unintended branches and the union itself do not help the caller.
  const useful = errors.filter((error) => error.keyword !== "anyOf" && !isNullBranch(error));
  for (const error of useful.length > 0 ? ofIntendedBranches(useful, errors) : errors) {
    const problem = problemOf(error);
    const place = `${problem.path} ${problem.code}`;
    if (!problems.has(place)) problems.set(place, problem);
    if (problems.size === limits.error_details_max) break;
  }
  return [...problems.values()].map((problem) => ({ ...problem }));
}

function isNullBranch(error: ErrorObject): boolean {
  return error.keyword === "type" && error.params["type"] === "null" && error.schemaPath.includes("/anyOf/");
}

/**
 * Removes errors of branches for another JSON type or another `type` member. If no branch fits, all accepted kinds are
 * listed.
 */
function ofIntendedBranches(useful: readonly ErrorObject[], errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = new Map(errors.flatMap((error) => (error.keyword === "anyOf" ? [[error.instancePath, error]] : [])));
  const groups: ErrorObject[][] = [];
  const within = new Map<ErrorObject, ErrorObject[]>();
  for (const error of useful) {
    const union = unionOf(error, unions);
    const group = union === undefined ? undefined : within.get(union);
    if (group !== undefined) group.push(error);
    else {
      const begun = [error];
      groups.push(begun);
      if (union !== undefined) within.set(union, begun);
    }
  }
  for (const [union, group] of within) group.splice(0, group.length, ...intendedErrors(group, union));
  return groups.flat();
}

/** Returns the innermost union whose branch reported the error. */
function unionOf(error: ErrorObject, unions: ReadonlyMap<string, ErrorObject>): ErrorObject | undefined {
  for (let path = error.instancePath; ; path = path.slice(0, path.lastIndexOf("/"))) {
    const union = unions.get(path);
    if (union !== undefined && error.schemaPath.startsWith(`${union.schemaPath}/`)) return union;
    if (path === "") return undefined;
  }
}

function intendedErrors(group: readonly ErrorObject[], union: ErrorObject): ErrorObject[] {
  const branchOf = ({ schemaPath }: ErrorObject) => schemaPath.slice(union.schemaPath.length + 1).split("/", 1)[0];
  const strange = group.filter(
    ({ keyword, instancePath }) =>
      (keyword === "type" && instancePath === union.instancePath) ||
      (keyword === "enum" && instancePath === `${union.instancePath}/type`),
  );
  const unintended = new Set(strange.map(branchOf));
  const intended = group.filter((error) => !unintended.has(branchOf(error)));
  if (intended.length > 0) return intended;
  const [one] = strange;
  if (one === undefined || strange.some(({ keyword }) => keyword !== one.keyword)) return strange;
  const taken = one.keyword === "type" ? "type" : "allowedValues";
  return [{ ...one, params: { [taken]: strange.flatMap(({ params }) => params[taken]) } }];
}

const typeNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
  null: "null",
};

function problemOf({ instancePath: path, keyword, params, parentSchema, data }: ErrorObject): Problem {
  const at = (code: ProblemCode, message: string, below?: string): Problem => ({
    path: below === undefined ? path : `${path}/${pointerPart(below)}`,
    code,
    message,
  });
  switch (keyword) {
    case "required":
      return at("required", "Add this field.", params["missingProperty"]);
    case "additionalProperties":
    case "unevaluatedProperties":
      return at(
        "unknown_field",
        "Remove this field: it is unknown here.",
        params["additionalProperty"] ?? params["unevaluatedProperty"],
      );
    case "type": {
      const types = [params["type"]].flat().map((type) => typeNames[String(type)] ?? String(type));
      return at("wrong_type", `Send ${[...new Set(types)].join(" or ")}.`);
    }
    case "enum":
      return at(
        "not_allowed",
        `Send one of ${(params["allowedValues"] as unknown[]).map((v) => JSON.stringify(v)).join(", ")}.`,
      );
    case "const":
      return at("not_allowed", `Send ${JSON.stringify(params["allowedValue"])}.`);
    case "minLength":
    case "minItems":
      return at("too_short", `Send at least ${params["limit"]} ${keyword === "minItems" ? "items" : "characters"}.`);
    case "maxLength":
    case "maxItems":
      return at("too_long", `Send at most ${params["limit"]} ${keyword === "maxItems" ? "items" : "characters"}.`);
    case "maxProperties":
      return at("too_many_keys", `Send at most ${params["limit"]} keys.`);
    case "minProperties":
      return at("too_short", `Send at least ${params["limit"]} keys.`);
    case "minimum":
    case "maximum":
    case "exclusiveMinimum":
    case "exclusiveMaximum":
      return at("out_of_range", `Send a number ${params["comparison"]} ${params["limit"]}.`);
    case "propertyNames":
      return at("bad_key", "Rename this key: it does not have the required form.", params["propertyName"]);
    case "pattern":
      if (params["pattern"] === name_pattern) return at("forbidden_character", nameProblem(String(data)) ?? "");
      return at("bad_format", patternMessage(String(params["pattern"])));
    case "format":
      return at(
        "bad_format",
        formatMessages[String(params["format"])] ?? `Send a text in the format ${params["format"]}.`,
      );
    case "uniqueItems":
      return at("not_allowed", `Send each item once: items ${params["j"]} and ${params["i"]} are the same.`);
    default:
      return at(
        "not_allowed",
        `Send a value that fits: ${keyword} ${JSON.stringify(parentSchema?.[keyword] ?? params)}.`,
      );
  }
}

const formatMessages: Record<string, string> = {
  "date-time":
    "Send an RFC 3339 date-time with a time zone, such as 2026-01-31T10:00:00Z; other forms of ISO 8601 are not accepted.",
  date: "Send a date, such as 2026-01-31.",
  email: "Send an e-mail address.",
  uri: "Send an absolute URL.",
};

function patternMessage(pattern: string): string {
  return pattern === "\\S" ? "Send a text that is not blank." : `Send a text that matches ${pattern}.`;
}
