import type { Type } from "../check/type.ts";
import { Duration } from "../value/duration.ts";
import { addDurations, moveTimestamp, Timestamp, timeBetween } from "../value/timestamp.ts";
import { combine, Failure, merge, SPENT } from "../value/unknown.ts";
import { Uint, type Value } from "../value/value.ts";
import { blame, type Code, code, type Run } from "./code.ts";
import type { Frame } from "./frame.ts";

export type Arithmetic = "+" | "-" | "*" | "/" | "%";

const INT_MIN = -(2n ** 63n);
const int_max = 2n ** 63n - 1n;
const uint_max = 2n ** 64n - 1n;

/** An int literal beside a double counts as a double, because JSON numbers are doubles. */
export function arithmetic(a: Code, op: Arithmetic, b: Code, type: Type, describe: (f: Frame) => string): Code {
  const left = a.run;
  const right = b.run;
  const cost = a.cost + b.cost + 1;
  const promoteLeft = typeof a.constant === "bigint" && op !== "%" ? Number(a.constant) : null;
  const promoteRight = typeof b.constant === "bigint" && op !== "%" ? Number(b.constant) : null;
  const otherwise = (x: Value, y: Value, f: Frame): Value => {
    if (promoteRight !== null && typeof x === "number") return doubles(x, op, promoteRight);
    if (promoteLeft !== null && typeof y === "number") return doubles(promoteLeft, op, y);
    const found = compute(x, op, y, f);
    if (f.left < 0) return SPENT;
    return found === undefined ? blamed(x, op, y, a, b, f) : found;
  };
  const numbers = op === "%" ? null : fast(left, op, right, otherwise);
  const run: Run = numbers ?? ((f) => otherwise(left(f), right(f), f));
  return code({ run, cost, type, describe });
}

function fast(
  left: Run,
  op: "+" | "-" | "*" | "/",
  right: Run,
  otherwise: (x: Value, y: Value, f: Frame) => Value,
): Run {
  switch (op) {
    case "+":
      return (f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x + y : otherwise(x, y, f);
      };
    case "-":
      return (f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x - y : otherwise(x, y, f);
      };
    case "*":
      return (f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x * y : otherwise(x, y, f);
      };
    case "/":
      return (f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x / y : otherwise(x, y, f);
      };
  }
}

function doubles(x: number, op: Arithmetic, y: number): Value {
  return op === "+" ? x + y : op === "-" ? x - y : op === "*" ? x * y : x / y;
}

/** Returns undefined if the operation does not exist. */
function compute(x: Value, op: Arithmetic, y: Value, f: Frame): Value | undefined {
  const bad = combine([x, y]);
  if (bad !== null) return bad;
  if (typeof x === "number") return typeof y === "number" && op !== "%" ? doubles(x, op, y) : undefined;
  if (typeof x === "bigint") return typeof y === "bigint" ? integers(x, op, y, INT_MIN, int_max) : undefined;
  if (x instanceof Uint) {
    if (!(y instanceof Uint)) return undefined;
    const r = integers(x.unsigned, op, y.unsigned, 0n, uint_max);
    return typeof r === "bigint" ? new Uint(r) : r;
  }
  return op === "+" ? add(x, y, f) : op === "-" ? subtract(x, y) : undefined;
}

function integers(x: bigint, op: Arithmetic, y: bigint, min: bigint, max: bigint): bigint | Failure {
  if (y === 0n && (op === "/" || op === "%")) return new Failure(op === "/" ? "division by zero" : "modulus by zero");
  const r = op === "+" ? x + y : op === "-" ? x - y : op === "*" ? x * y : op === "/" ? x / y : x % y;
  return r < min || r > max ? new Failure("integer overflow") : r;
}

function add(x: Value, y: Value, f: Frame): Value | undefined {
  if (typeof x === "string" && typeof y === "string") {
    f.charge((x.length + y.length) >> 4);
    return f.left < 0 ? SPENT : x + y;
  }
  if (Array.isArray(x) && Array.isArray(y)) {
    f.charge((x.length + y.length) >> 2);
    return f.left < 0 ? SPENT : [...x, ...y];
  }
  if (x instanceof Uint8Array && y instanceof Uint8Array) {
    f.charge((x.length + y.length) >> 4);
    if (f.left < 0) return SPENT;
    const joined = new Uint8Array(x.length + y.length);
    joined.set(x);
    joined.set(y, x.length);
    return joined;
  }
  const inRange = (v: Value | null) => v ?? new Failure("the time is out of range");
  if (x instanceof Timestamp && y instanceof Duration) return inRange(moveTimestamp(x, y, 1));
  if (x instanceof Duration && y instanceof Timestamp) return inRange(moveTimestamp(y, x, 1));
  return x instanceof Duration && y instanceof Duration ? inRange(addDurations(x, y, 1)) : undefined;
}

function subtract(x: Value, y: Value): Value | undefined {
  const inRange = (v: Value | null) => v ?? new Failure("the time is out of range");
  if (x instanceof Timestamp && y instanceof Timestamp) return inRange(timeBetween(x, y));
  if (x instanceof Timestamp && y instanceof Duration) return inRange(moveTimestamp(x, y, -1));
  return x instanceof Duration && y instanceof Duration ? inRange(addDurations(x, y, -1)) : undefined;
}

function blamed(x: Value, op: Arithmetic, y: Value, a: Code, b: Code, f: Frame): Value {
  const wrongX = !operable(x, op);
  const wrongY = !operable(y, op);
  if (wrongX !== wrongY) return wrongX ? blame(x, a, f) : blame(y, b, f);
  if (b.constant !== undefined) return blame(x, a, f);
  return a.constant !== undefined ? blame(y, b, f) : merge(blame(x, a, f), blame(y, b, f));
}

function operable(v: Value, op: Arithmetic): boolean {
  if (typeof v === "bigint" || v instanceof Uint) return true;
  if (typeof v === "number") return op !== "%";
  if (op === "+" && (typeof v === "string" || Array.isArray(v) || v instanceof Uint8Array)) return true;
  return (op === "+" || op === "-") && (v instanceof Timestamp || v instanceof Duration);
}

export function negate(a: Code, type: Type): Code {
  const run: Run = (f) => {
    const x = a.run(f);
    if (typeof x === "number") return -x;
    if (typeof x === "bigint") return x === INT_MIN ? new Failure("integer overflow") : -x;
    return blame(x, a, f);
  };
  return code({ run, cost: a.cost + 1, type, describe: a.describe });
}
