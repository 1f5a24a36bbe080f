import { DYN, INT, listOf, STRING } from "../check/type.ts";
import {
  type CallContext,
  type FunctionDeclaration,
  type Implementation,
  type Overload,
  overload,
} from "../library.ts";
import { indexIn, lastIndexIn, splitAt } from "../value/search.ts";
import { Failure } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";
import { format } from "./format.ts";

/** Returns code points only where they differ from UTF-16 units. */
function points(s: string): string | string[] {
  return /[\ud800-\udfff]/.test(s) ? Array.from(s) : s;
}

function join(p: string | readonly string[]): string {
  return typeof p === "string" ? p : p.join("");
}

function whole(v: Value | undefined): number | null {
  if (typeof v === "bigint") return Number(v);
  return typeof v === "number" && Number.isInteger(v) ? v : null;
}

const outOfRange = (i: number) => new Failure(`index out of range: ${i}`);

function find(name: string, last: boolean): FunctionDeclaration {
  const implementation: Implementation = (call, s: Value, part: Value, from?: Value) => {
    const start = from === undefined ? null : whole(from);
    if (typeof s !== "string" || typeof part !== "string" || (from !== undefined && start === null)) return undefined;
    call.charge((s.length * 2) >> 4);
    const text = points(s);
    const n = text.length;
    if (start !== null && (start < 0 || start > n)) return outOfRange(start);
    const at = start ?? (last ? n : 0);
    const units = typeof text === "string" ? at : join(text.slice(0, at)).length;
    const found = last ? lastIndexIn(s, part, units) : indexIn(s, part, units);
    return BigInt(found < 0 || typeof text === "string" ? found : points(s.slice(0, found)).length);
  };
  return {
    name,
    style: "member",
    overloads: [overload(INT, STRING, STRING), overload(INT, STRING, STRING, INT)],
    implementation,
  };
}

function member(name: string, overloads: readonly Overload[], implementation: Implementation): FunctionDeclaration {
  const charged: Implementation = (call, ...args: Value[]) => {
    call.charge(typeof args[0] === "string" ? args[0].length >> 4 : 0);
    return implementation(call, ...args);
  };
  return { name, style: "member", overloads, implementation: charged };
}

function substring(s: Value, from: Value, to?: Value): Value | undefined {
  const start = whole(from);
  const text = typeof s === "string" ? points(s) : null;
  const end = to === undefined ? (text?.length ?? 0) : whole(to);
  if (text === null || start === null || end === null) return undefined;
  if (start < 0 || start > text.length) return outOfRange(start);
  if (end < 0 || end > text.length) return outOfRange(end);
  return end < start
    ? new Failure(`the substring ends before it starts: ${start}, ${end}`)
    : join(text.slice(start, end));
}

function replace(call: CallContext, s: Value, old: Value, by: Value, count?: Value): Value | undefined {
  const limit = count === undefined ? -1 : whole(count);
  if (typeof s !== "string" || typeof old !== "string" || typeof by !== "string" || limit === null) return undefined;
  const parts = old === "" ? ["", ...Array.from(s), ""] : splitAt(s, old);
  const times = limit < 0 ? parts.length - 1 : Math.min(limit, parts.length - 1);
  // Charged first, because the result may be far longer than the text.
  const size = s.length + times * by.length;
  call.charge(size >> 4);
  if (call.left < 0) return s;
  return parts.slice(0, times + 1).join(by) + (times + 1 < parts.length ? old + parts.slice(times + 1).join(old) : "");
}

function split(s: Value, by: Value, count?: Value): Value | undefined {
  const limit = count === undefined ? -1 : whole(count);
  if (typeof s !== "string" || typeof by !== "string" || limit === null) return undefined;
  if (limit === 0) return [];
  const parts = by === "" ? Array.from(s) : splitAt(s, by);
  return limit < 0 || parts.length <= limit ? parts : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(by)];
}

/** Unicode white space, without U+FEFF and U+200B. */
const edges = /^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

function trim(s: string): string {
  let end = s.length;
  while (end > 0 && edges.test(s[end - 1] ?? "")) end--;
  return s.slice(0, end).replace(edges, "");
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
  ["\\", "\\\\"],
  ['"', '\\"'],
]);

const text = (v: Value, of: (s: string) => Value): Value | undefined => (typeof v === "string" ? of(v) : undefined);

/** Positions count code points. */
export const STRINGS: readonly FunctionDeclaration[] = [
  member("charAt", [overload(STRING, STRING, INT)], (_, s: Value, at: Value) => {
    const i = whole(at);
    const t = typeof s === "string" ? points(s) : null;
    if (t === null || i === null) return undefined;
    return i < 0 || i > t.length ? outOfRange(i) : (t[i] ?? "");
  }),
  find("indexOf", false),
  find("lastIndexOf", true),
  member("lowerAscii", [overload(STRING, STRING)], (_, v: Value) =>
    text(v, (s) => s.replace(/[A-Z]+/g, (c) => c.toLowerCase())),
  ),
  member("upperAscii", [overload(STRING, STRING)], (_, v: Value) =>
    text(v, (s) => s.replace(/[a-z]+/g, (c) => c.toUpperCase())),
  ),
  member("replace", [overload(STRING, STRING, STRING, STRING), overload(STRING, STRING, STRING, STRING, INT)], replace),
  member(
    "split",
    [overload(listOf(STRING), STRING, STRING), overload(listOf(STRING), STRING, STRING, INT)],
    (call, s: Value, by: Value, n?: Value) => {
      const parts = split(s, by, n);
      if (Array.isArray(parts)) call.charge(parts.length);
      return parts;
    },
  ),
  member(
    "substring",
    [overload(STRING, STRING, INT), overload(STRING, STRING, INT, INT)],
    (_, s: Value, from: Value, to?: Value) => substring(s, from, to),
  ),
  member("trim", [overload(STRING, STRING)], (_, v: Value) => text(v, trim)),
  member("reverse", [overload(STRING, STRING)], (_, v: Value) => text(v, (s) => Array.from(s).reverse().join(""))),
  member("format", [overload(STRING, STRING, listOf(DYN))], (call, s: Value, args: Value) =>
    typeof s === "string" && Array.isArray(args) ? format(s, args, call) : undefined,
  ),
  {
    name: "join",
    style: "member",
    overloads: [overload(STRING, listOf(STRING)), overload(STRING, listOf(STRING), STRING)],
    implementation: (call, list: Value, separator?: Value) => {
      if (!Array.isArray(list) || (separator !== undefined && typeof separator !== "string")) return undefined;
      if (!list.every((s) => typeof s === "string")) return undefined;
      const between = separator ?? "";
      call.charge(list.reduce((sum: number, s) => sum + 1 + ((s.length + between.length) >> 4), 0));
      return call.left < 0 ? "" : list.join(between);
    },
  },
  {
    name: "strings.quote",
    style: "global",
    overloads: [overload(STRING, STRING)],
    implementation: (call, v: Value) => {
      if (typeof v !== "string") return undefined;
      call.charge(v.length >> 3);
      return `"${v.replace(/\p{Surrogate}/gu, "\ufffd").replace(/[\x07\b\f\n\r\t\v\\"]/g, (c) => ESCAPES.get(c) ?? c)}"`;
    },
  },
];
