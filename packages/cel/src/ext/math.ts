import { BOOL, DOUBLE, DYN, INT, listOf, type Type, UINT } from "../check/type.ts";
import { type FunctionDeclaration, type Implementation, type Overload, overload } from "../library.ts";
import { compareNumbers } from "../value/equal.ts";
import { Failure } from "../value/unknown.ts";
import { Uint, type Value } from "../value/value.ts";

const NUMBERS = [INT, UINT, DOUBLE];
const mask = 2n ** 64n - 1n;

function isNumber(v: Value): boolean {
  return typeof v === "number" || typeof v === "bigint" || v instanceof Uint;
}

function extreme(name: string, sign: 1 | -1): FunctionDeclaration {
  const of: Implementation = (call, ...args: Value[]) => {
    const [first] = args;
    const all = args.length === 1 && Array.isArray(first) ? (first as readonly Value[]) : args;
    call.charge(all.length);
    if (all.length === 0) return new Failure(`${name} of an empty list`);
    if (!all.every(isNumber)) return undefined;
    return all.reduce((best, v) => (compareNumbers(v, best) * sign > 0 ? v : best));
  };
  const overloads = [...NUMBERS, DYN].flatMap((t) => [overload(t, t), ...(t === DYN ? [] : [overload(t, listOf(t))])]);
  return {
    name,
    style: "global",
    overloads: [...overloads, overload(DYN, listOf(DYN))],
    variadic: true,
    implementation: of,
  };
}

function real(name: string, result: Type, of: (x: number) => Value): FunctionDeclaration {
  const implementation: Implementation = (_, x: Value) => (typeof x === "number" ? of(x) : undefined);
  return { name, style: "global", overloads: [overload(result, DOUBLE)], implementation };
}

function each(
  name: string,
  ofInt: (n: bigint) => Value,
  ofUint: (n: bigint) => Value,
  ofDouble: (n: number) => Value,
): FunctionDeclaration {
  const implementation: Implementation = (_, x: Value) =>
    typeof x === "bigint"
      ? ofInt(x)
      : typeof x === "number"
        ? ofDouble(x)
        : x instanceof Uint
          ? ofUint(x.unsigned)
          : undefined;
  return { name, style: "global", overloads: NUMBERS.map((t) => overload(t, t)), implementation };
}

const BITS: readonly Overload[] = [overload(INT, INT, INT), overload(UINT, UINT, UINT)];

function bits(name: string, of: (a: bigint, b: bigint) => bigint): FunctionDeclaration {
  const implementation: Implementation = (_, a: Value, b: Value) => {
    if (typeof a === "bigint" && typeof b === "bigint") return of(a, b);
    return a instanceof Uint && b instanceof Uint ? new Uint(of(a.unsigned, b.unsigned)) : undefined;
  };
  return { name, style: "global", overloads: BITS, implementation };
}

function shift(name: string, of: (bits: bigint, by: bigint) => bigint): FunctionDeclaration {
  const implementation: Implementation = (_, a: Value, by: Value) => {
    if (typeof by !== "bigint" || !(typeof a === "bigint" || a instanceof Uint)) return undefined;
    if (by < 0n) return new Failure("a negative shift");
    const raw = typeof a === "bigint" ? BigInt.asUintN(64, a) : a.unsigned;
    const moved = by > 63n ? 0n : of(raw, by) & mask;
    return typeof a === "bigint" ? BigInt.asIntN(64, moved) : new Uint(moved);
  };
  return { name, style: "global", overloads: [overload(INT, INT, INT), overload(UINT, UINT, INT)], implementation };
}

const absolute = (n: bigint) => (n === -(2n ** 63n) ? new Failure("integer overflow") : n < 0n ? -n : n);
const round = (x: number) => (Number.isFinite(x) ? Math.sign(x) * Math.round(Math.abs(x)) : x);

export const MATH: readonly FunctionDeclaration[] = [
  extreme("math.greatest", 1),
  extreme("math.least", -1),
  real("math.ceil", DOUBLE, Math.ceil),
  real("math.floor", DOUBLE, Math.floor),
  real("math.round", DOUBLE, round),
  real("math.trunc", DOUBLE, Math.trunc),
  real("math.isNaN", BOOL, Number.isNaN),
  real("math.isInf", BOOL, (x) => x === Number.POSITIVE_INFINITY || x === Number.NEGATIVE_INFINITY),
  real("math.isFinite", BOOL, Number.isFinite),
  each("math.abs", absolute, (n) => new Uint(n), Math.abs),
  each(
    "math.sign",
    (n) => (n < 0n ? -1n : n > 0n ? 1n : 0n),
    (n) => new Uint(n > 0n ? 1n : 0n),
    Math.sign,
  ),
  {
    ...each(
      "math.sqrt",
      (n) => Math.sqrt(Number(n)),
      (n) => Math.sqrt(Number(n)),
      Math.sqrt,
    ),
    overloads: NUMBERS.map((t) => overload(DOUBLE, t)),
  },
  bits("math.bitAnd", (a, b) => a & b),
  bits("math.bitOr", (a, b) => a | b),
  bits("math.bitXor", (a, b) => a ^ b),
  {
    name: "math.bitNot",
    style: "global",
    overloads: [overload(INT, INT), overload(UINT, UINT)],
    implementation: (_, a: Value) =>
      typeof a === "bigint" ? ~a : a instanceof Uint ? new Uint(a.unsigned ^ mask) : undefined,
  },
  shift("math.bitShiftLeft", (n, by) => n << by),
  shift("math.bitShiftRight", (n, by) => n >> by),
];
