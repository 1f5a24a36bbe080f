/** Strict reading of JSON. */

/** A text that is deeper would end programs that walk it by calling themselves. */
const depth_max = 100;

/** Canonical JSON (RFC 8785) of a value of `JSON.parse`. The caller bounds its depth. */
export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  const texts = members.map((name) => `${JSON.stringify(name)}:${canonicalText((value as JsonObject)[name])}`);
  return `{${texts.join(",")}}`;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true if the value is an object with exactly these members. */
export function hasMembers<Name extends string>(
  value: unknown,
  names: readonly Name[],
): value is Readonly<Record<Name, unknown>> {
  return (
    isObject(value) && Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name))
  );
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && !/\p{Surrogate}/u.test(value);
}

/** Parses an object of JSON without repeated names. Undefined: it is none, or it is deeper than 100. */
export function parsedObject(text: string): JsonObject | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isObject(value) && hasDistinctNames(text) ? value : undefined;
}

/** `text` is JSON. `JSON.parse` keeps the last of repeated names, other programs the first. */
function hasDistinctNames(text: string): boolean {
  const open: Set<string>[] = [];
  let latest = "";
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g)) {
    if (token === "{" || token === "[") {
      if (open.push(new Set()) > depth_max) return false;
    } else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const [names, name] = [open.at(-1), JSON.parse(latest) as string];
      if (names?.has(name)) return false;
      names?.add(name);
    } else latest = token;
  }
  return true;
}
