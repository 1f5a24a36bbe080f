/** `path` is the JSON Pointer of the value that begins in the line. */
export interface JsonLine {
  readonly depth: number;
  readonly key: string | null;
  readonly text: string;
  readonly sign: "same" | "added" | "removed";
  readonly path: string;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const pointerPart = (key: string | number) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
export const isObject = (value: unknown): value is { readonly [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const entriesOf = (value: Json): [string, Json][] =>
  Array.isArray(value) ? value.map((each, index) => [String(index), each]) : Object.entries(value as object);
const isBranch = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Ignores the order of keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, index) => sameJson(each, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/** Returns all lines of a value, because nobody would notice a gap. The API limits a body's size. */
export function jsonLines(value: unknown, sign: JsonLine["sign"] = "same"): JsonLine[] {
  const lines: JsonLine[] = [];
  write(lines, value as Json, null, 0, "", sign);
  return lines;
}

function write(
  lines: JsonLine[],
  value: Json,
  key: string | null,
  depth: number,
  path: string,
  sign: JsonLine["sign"],
): void {
  if (!isBranch(value)) {
    lines.push({ depth, key, text: JSON.stringify(value) ?? "null", sign, path });
    return;
  }
  const list = Array.isArray(value);
  const entries = entriesOf(value);
  if (entries.length === 0) {
    lines.push({ depth, key, text: list ? "[]" : "{}", sign, path });
    return;
  }
  lines.push({ depth, key, text: list ? "[" : "{", sign, path });
  for (const [name, each] of entries)
    write(lines, each, list ? null : name, depth + 1, `${path}/${pointerPart(name)}`, sign);
  lines.push({ depth, key: null, text: list ? "]" : "}", sign, path });
}

/** Returns the lines of both: removed if only in `before`, added if only in `after`. */
export function diffLines(before: unknown, after: unknown): JsonLine[] {
  const lines: JsonLine[] = [];
  compare(lines, before as Json, after as Json, null, 0, "");
  return lines;
}

function compare(lines: JsonLine[], a: Json, b: Json, key: string | null, depth: number, path: string): void {
  if (sameJson(a, b)) {
    write(lines, a, key, depth, path, "same");
    return;
  }
  if (!isBranch(a) || !isBranch(b) || Array.isArray(a) !== Array.isArray(b)) {
    write(lines, a, key, depth, path, "removed");
    write(lines, b, key, depth, path, "added");
    return;
  }
  const list = Array.isArray(a);
  const before = new Map(entriesOf(a));
  const after = new Map(entriesOf(b));
  lines.push({ depth, key, text: list ? "[" : "{", sign: "same", path });
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const label = list ? null : name;
    const at = `${path}/${pointerPart(name)}`;
    if (!after.has(name)) write(lines, before.get(name) as Json, label, depth + 1, at, "removed");
    else if (!before.has(name)) write(lines, after.get(name) as Json, label, depth + 1, at, "added");
    else compare(lines, before.get(name) as Json, after.get(name) as Json, label, depth + 1, at);
  }
  lines.push({ depth, key: null, text: list ? "]" : "}", sign: "same", path });
}

/** Returns the changed lines, each with its enclosing branches; counts the other lines. */
export function changedLines(lines: readonly JsonLine[]): JsonLine[] {
  const kept = new Set<number>();
  const branches: number[] = [];
  for (const [at, { depth, text, sign }] of lines.entries()) {
    if (sign !== "same") for (const each of [...branches.slice(0, depth), at]) kept.add(each);
    if (text === "{" || text === "[") branches[depth] = at;
    else if ((text === "}" || text === "]") && kept.has(branches[depth] ?? -1)) kept.add(at);
  }
  const shown: JsonLine[] = [];
  let left = 0;
  for (const [at, line] of lines.entries()) {
    if (!kept.has(at)) {
      left += 1;
      continue;
    }
    if (left > 0) shown.push({ ...line, key: null, text: `… ${left} unchanged`, sign: "same" });
    left = 0;
    shown.push(line);
  }
  return shown;
}

export interface PatchStep {
  readonly op: "add" | "remove" | "replace";
  readonly path: string;
  readonly value?: unknown;
}

/**
 * Returns the RFC 6902 patch from `before` to `after`. Removes or adds entries of a list if their place is clear;
 * otherwise replaces the list.
 */
export function patchBetween(before: unknown, after: unknown, path = ""): PatchStep[] {
  if (sameJson(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key): PatchStep[] => {
      const at = `${path}/${pointerPart(key)}`;
      if (!Object.hasOwn(after, key)) return [{ op: "remove", path: at }];
      if (!Object.hasOwn(before, key)) return [{ op: "add", path: at, value: after[key] }];
      return patchBetween(before[key], after[key], at);
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return after.flatMap((each, index) => patchBetween(before[index], each, `${path}/${index}`));
  }
  const moved = Array.isArray(before) && Array.isArray(after) ? entriesBetween(before, after, path) : null;
  return moved ?? [{ op: "replace", path, value: after }];
}

/**
 * Returns the patch that removes or adds neighbours in a list; null if more changed, or equal entries make the place
 * unclear.
 */
function entriesBetween(before: readonly unknown[], after: readonly unknown[], path: string): PatchStep[] | null {
  const [long, short] = before.length > after.length ? [before, after] : [after, before];
  const count = long.length - short.length;
  let at = short.findIndex((each, index) => !sameJson(each, long[index]));
  if (at < 0) at = short.length;
  if (!short.slice(at).every((each, index) => sameJson(each, long[at + count + index]))) return null;
  if (at > 0 && sameJson(long[at - 1], long[at + count - 1])) return null;
  return long === before
    ? Array.from({ length: count }, (_, n) => ({ op: "remove", path: `${path}/${at + count - 1 - n}` }))
    : after.slice(at, at + count).map((value, n) => ({ op: "add", path: `${path}/${at + n}`, value }));
}

export function atPointer(value: unknown, pointer: string): unknown {
  let at: unknown = value;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** Returns the value with `put` at an existing JSON Pointer; otherwise unchanged. */
export function withPointer(value: unknown, pointer: string, put: unknown): unknown {
  const [part, ...rest] = pointer.split("/").slice(1);
  if (part === undefined) return put;
  const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return value;
  const deeper = rest.length === 0 ? put : withPointer((value as never)[key], `/${rest.join("/")}`, put);
  if (Array.isArray(value)) return value.map((each, index) => (String(index) === key ? deeper : each));
  return { ...value, [key]: deeper };
}
