import { BOOL } from "../check/type.ts";
import { compareDurations, Duration } from "../value/duration.ts";
import { compareBytes, compareNumbers, compareStrings } from "../value/equal.ts";
import { compareTimestamps, Timestamp } from "../value/timestamp.ts";
import { combine, merge, SPENT } from "../value/unknown.ts";
import { Uint, type Value } from "../value/value.ts";
import { blame, type Code, code, type Run, type Test, testOf } from "./code.ts";
import { exactNumber } from "./equality.ts";
import type { Frame } from "./frame.ts";

type Order = "<" | "<=" | ">" | ">=";

const FLIPPED = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

export function comparison(a: Code, op: Order, b: Code, describe: (f: Frame) => string): Code {
  if (a.constant !== undefined && b.constant === undefined) return comparison(b, FLIPPED[op], a, describe);
  const cost = a.cost + b.cost + 1;
  const done = (run: Run, tests: Code["tests"] = null) => code({ run, tests, cost, type: BOOL, describe });
  const left = a.small ?? a.run;
  const right = b.small ?? b.run;
  const constant = typeof b.constant === "bigint" ? exactNumber(b.constant) : b.constant;
  if (typeof constant === "number") {
    const test = withNumber(op, constant, (x, f) => slow(x, op, b.constant as Value, a, b, f));
    if (a.small !== null) return done((f) => test(left(f), f));
    const { run, tests } = testOf(a, test);
    return done(run, tests);
  }
  const otherwise = (x: Value, y: Value, f: Frame) => slow(x, op, y, a, b, f);
  switch (op) {
    case "<":
      return done((f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x < y : otherwise(x, y, f);
      });
    case "<=":
      return done((f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x <= y : otherwise(x, y, f);
      });
    case ">":
      return done((f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x > y : otherwise(x, y, f);
      });
    case ">=":
      return done((f) => {
        const x = left(f);
        const y = right(f);
        return typeof x === "number" && typeof y === "number" ? x >= y : otherwise(x, y, f);
      });
  }
}

function withNumber(op: Order, n: number, otherwise: Test): Test {
  switch (op) {
    case "<":
      return (x, f) => (typeof x === "number" ? x < n : otherwise(x, f));
    case "<=":
      return (x, f) => (typeof x === "number" ? x <= n : otherwise(x, f));
    case ">":
      return (x, f) => (typeof x === "number" ? x > n : otherwise(x, f));
    case ">=":
      return (x, f) => (typeof x === "number" ? x >= n : otherwise(x, f));
  }
}

function slow(x: Value, op: Order, y: Value, a: Code, b: Code, f: Frame): Value {
  const bad = combine([x, y]);
  if (bad !== null) return bad;
  const sort = sortOf(x);
  if (sort === null || sort !== sortOf(y)) return blamed(x, sort, y, a, b, f);
  const d = order(x, y, f);
  if (f.left < 0) return SPENT;
  switch (op) {
    case "<":
      return d < 0;
    case "<=":
      return d <= 0;
    case ">":
      return d > 0;
    case ">=":
      return d >= 0;
  }
}

/** Only values of one sort have an order. */
function sortOf(v: Value): "number" | "string" | "bool" | "bytes" | "timestamp" | "duration" | null {
  switch (typeof v) {
    case "number":
    case "bigint":
      return "number";
    case "string":
      return "string";
    case "boolean":
      return "bool";
  }
  if (v instanceof Uint) return "number";
  if (v instanceof Uint8Array) return "bytes";
  if (v instanceof Timestamp) return "timestamp";
  return v instanceof Duration ? "duration" : null;
}

function order(x: Value, y: Value, f: Frame): number {
  if (typeof x === "string") return compareStrings(x, y as string, f);
  if (typeof x === "boolean") return Number(x) - Number(y);
  if (x instanceof Uint8Array) return compareBytes(x, y as Uint8Array, f);
  if (x instanceof Timestamp) return compareTimestamps(x, y as Timestamp);
  if (x instanceof Duration) return compareDurations(x, y as Duration);
  return compareNumbers(x, y);
}

/** Blames null, then unordered values, then the operand that is not a constant. */
function blamed(x: Value, sort: string | null, y: Value, a: Code, b: Code, f: Frame): Value {
  const wrongX = sort === null;
  const wrongY = sortOf(y) === null;
  if (wrongX && wrongY) return merge(blame(x, a, f), blame(y, b, f));
  if (wrongX || (!wrongY && b.constant !== undefined)) return blame(x, a, f);
  if (wrongY || a.constant !== undefined) return blame(y, b, f);
  return merge(blame(x, a, f), blame(y, b, f));
}
