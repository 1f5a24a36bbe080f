import { BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT } from "../check/type.ts";
import { type FunctionDeclaration, type Implementation, overload } from "../library.ts";
import { Duration, parseDuration } from "../value/duration.ts";
import { parseTimestamp, Timestamp, timestampOf } from "../value/timestamp.ts";
import { Failure } from "../value/unknown.ts";
import { Uint, type Value } from "../value/value.ts";

const two_63 = 2 ** 63;
const INT_MIN = -(2n ** 63n);
const int_max = 2n ** 63n - 1n;
const uint_max = 2n ** 64n - 1n;

const outOfRange = (type: string) => new Failure(`out of the range of ${type}`);
const notA = (type: string) => new Failure(`this text is not a ${type}`);

function inRange(n: bigint): Value {
  return n < INT_MIN || n > int_max ? outOfRange("int") : n;
}

function unsigned(n: bigint): Value {
  return n < 0n || n > uint_max ? outOfRange("uint") : new Uint(n);
}

function toInt(x: Value): Value | undefined {
  if (typeof x === "bigint") return x;
  // The double -2^63 may be a rounded smaller number, so both bounds are exclusive (cel-spec `conversions`).
  if (typeof x === "number") return x > -two_63 && x < two_63 ? BigInt(Math.trunc(x)) : outOfRange("int");
  if (typeof x === "string") return /^[+-]?[0-9]{1,30}$/.test(x) ? inRange(BigInt(x.replace(/^\+/, ""))) : notA("int");
  if (x instanceof Uint) return inRange(x.unsigned);
  return x instanceof Timestamp ? BigInt(x.seconds) : undefined;
}

function toUint(x: Value): Value | undefined {
  if (x instanceof Uint) return x;
  if (typeof x === "bigint") return unsigned(x);
  if (typeof x === "number") return x >= 0 && x < 2 * two_63 ? new Uint(BigInt(Math.trunc(x))) : outOfRange("uint");
  if (typeof x === "string") return /^\+?[0-9]{1,30}$/.test(x) ? unsigned(BigInt(x.replace("+", ""))) : notA("uint");
  return undefined;
}

const decimal = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** A number that is too large is no infinity, as in cel-go. */
function finite(x: number): Value {
  return Number.isFinite(x) ? x : outOfRange("double");
}

function toDouble(x: Value): Value | undefined {
  if (typeof x === "number") return x;
  if (typeof x === "bigint") return Number(x);
  if (x instanceof Uint) return Number(x.unsigned);
  if (typeof x !== "string") return undefined;
  if (x.length <= 400 && decimal.test(x)) return finite(Number(x));
  const named = /^([+-]?)(?:(inf|infinity)|nan)$/i.exec(x);
  if (named === null) return notA("double");
  return named[2] === undefined ? Number.NaN : named[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

function toText(x: Value, charge: (n: number) => void): Value | undefined {
  switch (typeof x) {
    case "string":
      return x;
    case "bigint":
    case "number":
    case "boolean":
      return String(x);
  }
  if (x instanceof Uint) return String(x.unsigned);
  if (x instanceof Timestamp || x instanceof Duration) return x.toString();
  if (!(x instanceof Uint8Array)) return undefined;
  charge(x.length >> 4);
  try {
    return decoder.decode(x);
  } catch {
    // A fatal decoder throws only for bytes that are not UTF-8.
    return new Failure("these bytes are not UTF-8");
  }
}

const BOOLS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "true", "T", "TRUE", "True"].map((s) => [s, true] as const),
  ...["0", "f", "false", "F", "FALSE", "False"].map((s) => [s, false] as const),
]);

function toTimestamp(x: Value): Value | undefined {
  if (x instanceof Timestamp) return x;
  if (typeof x === "string") return parseTimestamp(x) ?? notA("timestamp");
  const seconds = typeof x === "bigint" || (typeof x === "number" && Number.isInteger(x)) ? Number(x) : null;
  return seconds === null ? undefined : (timestampOf(seconds, 0) ?? outOfRange("timestamp"));
}

function conversion(
  name: string,
  to: Implementation,
  ...overloads: ReturnType<typeof overload>[]
): FunctionDeclaration {
  return { name, style: "global", overloads, implementation: to };
}

/** `double` for a host without NaN and infinities. */
export const finiteDouble: FunctionDeclaration = conversion(
  "double",
  (_, x: Value) => {
    const value = toDouble(x);
    return typeof x === "string" && typeof value === "number" && !Number.isFinite(value) ? notA("double") : value;
  },
  ...[DOUBLE, INT, UINT, STRING].map((t) => overload(DOUBLE, t)),
);

export const CONVERSIONS: readonly FunctionDeclaration[] = [
  conversion("int", (_, x: Value) => toInt(x), ...[INT, UINT, DOUBLE, STRING, TIMESTAMP].map((t) => overload(INT, t))),
  conversion("uint", (_, x: Value) => toUint(x), ...[UINT, INT, DOUBLE, STRING].map((t) => overload(UINT, t))),
  conversion("double", (_, x: Value) => toDouble(x), ...[DOUBLE, INT, UINT, STRING].map((t) => overload(DOUBLE, t))),
  conversion(
    "string",
    (call, x: Value) => toText(x, (n) => call.charge(n)),
    ...[STRING, BOOL, INT, UINT, DOUBLE, BYTES, TIMESTAMP, DURATION].map((t) => overload(STRING, t)),
  ),
  conversion(
    "bytes",
    (call, x: Value) => {
      if (typeof x !== "string") return x instanceof Uint8Array ? x : undefined;
      call.charge(x.length >> 4);
      return encoder.encode(x);
    },
    overload(BYTES, BYTES),
    overload(BYTES, STRING),
  ),
  conversion(
    "bool",
    (_, x: Value) => (typeof x === "string" ? (BOOLS.get(x) ?? notA("bool")) : typeof x === "boolean" ? x : undefined),
    overload(BOOL, BOOL),
    overload(BOOL, STRING),
  ),
  conversion(
    "timestamp",
    (_, x: Value) => toTimestamp(x),
    ...[TIMESTAMP, STRING, INT].map((t) => overload(TIMESTAMP, t)),
  ),
  conversion(
    "duration",
    (_, x: Value) =>
      typeof x === "string" ? (parseDuration(x) ?? notA("duration")) : x instanceof Duration ? x : undefined,
    overload(DURATION, DURATION),
    overload(DURATION, STRING),
  ),
];
