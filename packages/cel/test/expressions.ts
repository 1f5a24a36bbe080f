import type { Random } from "./random.ts";

/**
 * Generated expressions omit cases in which the other engine differs:
 * - `timestamp(int)`: seconds here, milliseconds there;
 * - `double("abc")`, `int("")`, `uint("")`, `duration("")`: errors here, NaN and 0 there;
 * - `string()` of fractions of a second: `0.5s` here as in Go, `0.500s` there;
 * - parts of timestamps before the year 100 (year 1 is 1901 there), and just after midnight in a zone
 *   (`1969-12-31T23:59:59Z` in Berlin is the second day of 1970 there);
 * - uints from 2^63 (`18446744073709551615u / 1u`) and `-(-9223372036854775808)`: a value and an overflow here, the
 *   reverse there;
 * - a double with an int literal: a double here, an error in the specification;
 * - null facts: unknown here, comparable there.
 */

export type Wanted =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "ints"
  | "doubles"
  | "strings"
  | "map"
  | "timestamp"
  | "duration";

const WANTED: readonly Wanted[] = [
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "ints",
  "doubles",
  "strings",
  "map",
  "timestamp",
  "duration",
];
const SCALARS: readonly Wanted[] = ["int", "double", "string", "bool", "uint"];
const NUMBERS: readonly Wanted[] = ["int", "double", "uint"];
const ORDERED: readonly Wanted[] = ["int", "double", "uint", "string", "bool", "bytes", "timestamp", "duration"];

const INTS = [
  "0",
  "1",
  "2",
  "-1",
  "7",
  "-13",
  "100",
  "9223372036854775807",
  "-9223372036854775808",
  "4611686018427387904",
];
const DOUBLES = ["0.0", "1.0", "-1.5", "2.5", "0.1", "1e300", "3.0", "-0.0", "100.25"];
const STRINGS = [
  '""',
  '"a"',
  '"abc"',
  '"Zürich"',
  '"🐱b"',
  '"a.b"',
  '"10"',
  '"-3"',
  '"true"',
  '"x y z"',
  '"\\n"',
  "'q\"'",
];
const NUMERALS = ['"10"', '"0"', '"4294967296"', '"99999999999999999999"'];
const BYTES = ['b""', 'b"abc"', 'b"\\xff\\x00"', 'b"ü"'];
const TIMES = [
  'timestamp("2026-01-31T12:30:45Z")',
  'timestamp("1971-06-30T23:59:59Z")',
  "timestamp(0)",
  'timestamp("1980-03-01T00:00:00Z")',
  'timestamp("2024-02-29T00:00:00+05:30")',
];
const PARTS = [
  "getFullYear",
  "getMonth",
  "getDate",
  "getDayOfMonth",
  "getDayOfWeek",
  "getHours",
  "getMinutes",
  "getSeconds",
  "getMilliseconds",
];
const ZONES = ['"Europe/Berlin"', '"-03:30"', '"America/New_York"', '"nowhere"'];
const SPANS = ['duration("1h")', 'duration("-90s")', 'duration("0.5s")', 'duration("0s")', 'duration("24h30m")'];
const PATTERNS = ['"a+"', '"^[a-z]*$"', '"(a|b)c"', '"\\\\d"', '"."'];

export const BINDINGS = {
  n: 7.5,
  m: 3,
  s: "abc",
  t: "Zürich 🐱",
  yes: true,
  no: false,
  ds: [1, 2.5, 3, -4],
  ss: ["a", "bc", "a", ""],
  o: { a: 1, b: "text", c: { d: [1, 2], e: true }, f: false },
};

/** Mostly well typed. The size grows with `depth`. */
export function expression(r: Random, depth: number): string {
  return make(r, r.pick(WANTED), depth, []);
}

function any(r: Random, depth: number, scope: readonly Scoped[]): string {
  return make(r, r.pick(WANTED), depth, scope);
}

interface Scoped {
  readonly name: string;
  readonly type: Wanted;
}

function make(r: Random, type: Wanted, depth: number, scope: readonly Scoped[]): string {
  const fitting = scope.filter((s) => s.type === type);
  if (fitting.length > 0 && r.chance(0.3)) return r.pick(fitting).name;
  if (depth <= 0 || r.chance(0.15)) return leaf(r, type);
  const d = depth - 1;
  const of = (t: Wanted) => make(r, t, d, scope);
  if (r.chance(0.08)) return `(${of("bool")} ? ${of(type)} : ${of(type)})`;
  if (r.chance(0.03)) return `dyn(${of(type)})`;
  if (r.chance(0.03)) return `{"k": ${of(type)}, "l": ${any(r, 0, scope)}}.k`;
  if (r.chance(0.03)) return `[${of(type)}, ${of(type)}][${r.pick(["0", "1", "2"])}]`;
  switch (type) {
    case "bool":
      return bool(r, d, scope, of);
    case "int":
      return r.pick<() => string>([
        () => `(${of("int")} ${r.pick(["+", "-", "*", "/", "%"])} ${of("int")})`,
        () => `-(${of("int")} % 1000)`,
        () => `size(${of(r.pick(["string", "bytes", "ints", "strings", "map"]))})`,
        () => `${of(r.pick(["string", "ints", "map"]))}.size()`,
        () => `int(${r.chance(0.8) ? of(r.pick(["double", "uint", "timestamp", "int"])) : r.pick(NUMERALS)})`,
        () => `${of("timestamp")}.${r.pick(PARTS)}()`,
        () => `${TIMES[0]}.${r.pick(PARTS)}(${r.pick(ZONES)})`,
        () => `${of("timestamp")}.getDayOfYear()`,
        () => `${of("duration")}.${r.pick(["getHours", "getMinutes", "getSeconds"])}()`,
        () => `${of("ints")}[${of("int")}]`,
      ])();
    case "uint":
      return r.pick<() => string>([
        () => `(${of("uint")} ${r.pick(["+", "-", "*", "/", "%"])} ${of("uint")})`,
        () => `uint(${r.chance(0.8) ? of(r.pick(["int", "double"])) : r.pick(NUMERALS)})`,
      ])();
    case "double":
      return r.pick<() => string>([
        () => `(${of("double")} ${r.pick(["+", "-", "*", "/"])} ${of("double")})`,
        () => `-(${of("double")})`,
        () => `double(${r.chance(0.8) ? of(r.pick(["int", "uint", "double"])) : r.pick(NUMERALS)})`,
        () => `${of("doubles")}[${r.pick(["0", "1", "3", "4"])}]`,
        () => r.pick(["n", "m", "o.a", "o.c.d[1]", "o.missing"]),
      ])();
    case "string":
      return r.pick<() => string>([
        () => `(${of("string")} + ${of("string")})`,
        () => `string(${of(r.pick(["int", "uint", "bool", "string", "bytes"]))})`,
        () => `string(${r.pick(TIMES)})`,
        () => `${of("strings")}[${r.pick(["0", "1", "9"])}]`,
        () => r.pick(["s", "t", "o.b", "o.b.c", "nothing"]),
      ])();
    case "bytes":
      return r.chance(0.5) ? `bytes(${of("string")})` : `(${of("bytes")} + ${of("bytes")})`;
    case "ints":
    case "doubles":
    case "strings":
      return list(r, type, d, scope, of);
    case "map":
      return `{${of("string")}: ${any(r, d, scope)}, "z": ${any(r, d, scope)}}`;
    case "timestamp":
      return r.pick<() => string>([
        () => `(${of("timestamp")} ${r.pick(["+", "-"])} ${of("duration")})`,
        () => `timestamp(${of("timestamp")})`,
      ])();
    case "duration":
      return r.pick<() => string>([
        () => `(${of("timestamp")} - ${of("timestamp")})`,
        () => `(${of("duration")} ${r.pick(["+", "-"])} ${of("duration")})`,
        () => `duration(${of("duration")})`,
      ])();
  }
}

function bool(r: Random, d: number, scope: readonly Scoped[], of: (t: Wanted) => string): string {
  const x = `x${scope.length}`;
  const inside = (t: Wanted) => make(r, "bool", d, [...scope, { name: x, type: t }]);
  return r.pick<() => string>([
    () => `(${of("bool")} && ${of("bool")})`,
    () => `(${of("bool")} || ${of("bool")} || ${of("bool")})`,
    () => `!${of("bool")}`,
    () => `(${any(r, d, scope)} ${r.pick(["==", "!="])} ${any(r, d, scope)})`,
    () => {
      const t = r.pick(SCALARS);
      return `(${of(t)} ${r.pick(["==", "!="])} ${of(t)})`;
    },
    () => {
      const t = r.pick(ORDERED);
      return `(${of(t)} ${r.pick(["<", "<=", ">", ">="])} ${of(t)})`;
    },
    () => `(${of(r.pick(NUMBERS))} ${r.pick(["<", "<=", ">", ">=", "==", "!="])} ${of(r.pick(NUMBERS))})`,
    () => `(${any(r, d, scope)} ${r.pick(["<", ">"])} ${any(r, d, scope)})`,
    () => `(${of("int")} in ${of("ints")})`,
    () => `(${of("string")} in ${of(r.pick(["strings", "map"]))})`,
    () => `(${any(r, d, scope)} in ${of(r.pick(["ints", "doubles", "strings"]))})`,
    () => `${of("string")}.${r.pick(["startsWith", "endsWith", "contains"])}(${of("string")})`,
    () => `${of("string")}.matches(${r.pick(PATTERNS)})`,
    () => `has(${r.pick(["o.a", "o.zz", "o.c.e", "o.c.zz", '{"k": 1}.k', '{"k": 1}.l'])})`,
    () => `${of("ints")}.${r.pick(["all", "exists", "exists_one"])}(${x}, ${inside("int")})`,
    () => `${of("strings")}.${r.pick(["all", "exists", "exists_one"])}(${x}, ${inside("string")})`,
    () => `${of("map")}.${r.pick(["all", "exists"])}(${x}, ${inside("string")})`,
    () => `bool(${of(r.pick(["string", "bool"]))})`,
    () =>
      `(type(${any(r, d, scope)}) == ${r.pick(["int", "string", "double", "bool", "list", "map", "uint", "bytes", "null_type"])})`,
    () => r.pick(["yes", "no", "o.c.e", "o.f"]),
  ])();
}

function list(
  r: Random,
  type: "ints" | "doubles" | "strings",
  d: number,
  scope: readonly Scoped[],
  of: (t: Wanted) => string,
): string {
  const element: Wanted = type === "ints" ? "int" : type === "doubles" ? "double" : "string";
  const x = `x${scope.length}`;
  const inside = (t: Wanted) => make(r, t, d, [...scope, { name: x, type: element }]);
  return r.pick<() => string>([
    () => `[${Array.from({ length: r.below(4) }, () => of(element)).join(", ")}]`,
    () => `(${of(type)} + ${of(type)})`,
    () => `${of(type)}.filter(${x}, ${inside("bool")})`,
    () => `${of(type)}.map(${x}, ${inside(element)})`,
    () => `${of(type)}.map(${x}, ${inside("bool")}, ${inside(element)})`,
    () => (type === "doubles" ? r.pick(["ds", "o.c.d"]) : type === "strings" ? "ss" : "[1, 2, 3]"),
  ])();
}

function leaf(r: Random, type: Wanted): string {
  switch (type) {
    case "bool":
      return r.pick(["true", "false", "yes", "no"]);
    case "int":
      return r.pick(INTS);
    case "uint":
      return r.pick(["0u", "1u", "42u", "4294967295u"]);
    case "double":
      return r.chance(0.5) ? r.pick(DOUBLES) : r.pick(["n", "m", "o.a"]);
    case "string":
      return r.chance(0.7) ? r.pick(STRINGS) : r.pick(["s", "t", "o.b"]);
    case "bytes":
      return r.pick(BYTES);
    case "ints":
      return r.pick(["[]", "[1]", "[1, 2, 3]", "[0, -5]"]);
    case "doubles":
      return r.pick(["ds", "[1.5]", "[0.0, 2.0]"]);
    case "strings":
      return r.pick(["ss", '["a", "b"]', "[]"]);
    case "map":
      return r.pick(["o", "{}", '{"a": 1}', '{1: "x", 2: "y"}', "{true: 1}"]);
    case "timestamp":
      return r.pick(TIMES);
    case "duration":
      return r.pick(SPANS);
  }
}
