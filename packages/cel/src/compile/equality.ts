import { BOOL, type Type } from "../check/type.ts";
import { chargeForChars, equal, hasKey, sameText } from "../value/equal.ts";
import { LazyObject } from "../value/lazy.ts";
import { combine, type Failure, merge, NonValue, NullFact, SPENT, type Unknown, unknown } from "../value/unknown.ts";
import { CelMap, isMap, Uint, type Value } from "../value/value.ts";
import { blame, type Code, code, type Run, type Test, testOf } from "./code.ts";
import type { Frame } from "./frame.ts";

/**
 * Compiles `a == b` (`sign` true) or `a != b`. Comparing with the literal null is definite. Otherwise a null fact, a
 * fact that contradicts its declared type, and a declared type beside another kind are unknown: `"false" == true` must
 * not silently be false.
 */
export function equality(a: Code, b: Code, sign: boolean, describe: (f: Frame) => string): Code {
  const cost = a.cost + b.cost + 1;
  const done = (parts: Pick<Code, "run"> & Partial<Code>) => code({ ...parts, cost, type: BOOL, describe });
  if (b.constant !== undefined) return done(withConstant(a, b, b.constant, sign));
  if (a.constant !== undefined) return done(withConstant(b, a, a.constant, sign));
  const left = a.run;
  const right = b.run;
  return done({
    run: (f) => {
      const x = left(f);
      const y = right(f);
      if (typeof x === "string" && typeof y === "string") {
        const same = sameText(x, y, f);
        return f.left < 0 ? SPENT : same === sign;
      }
      if (typeof x === typeof y && typeof x !== "object") return (x === y) === sign;
      return slow(x, y, a, b, sign, f);
    },
  });
}

function withConstant(a: Code, b: Code, constant: Value, sign: boolean): Pick<Code, "run" | "tests"> {
  const operand = a.run;
  const otherwise = (x: Value, f: Frame): Value => slow(x, constant, a, b, sign, f);
  if (constant === null) {
    // A value computed from a null fact is unknown. Only reading the fact itself gives null.
    const isNull = (x: Value) => x === null || (a.fromBindings && x instanceof NullFact);
    return testOf(a, (x) => (isNull(x) ? sign : x instanceof NonValue ? (x as Value) : !sign));
  }
  const number = typeof constant === "bigint" ? exactNumber(constant) : constant;
  if (typeof number === "number") {
    const test: Test = (x, f) => (typeof x === "number" ? (x === number) === sign : otherwise(x, f));
    const small = a.small;
    return small === null ? testOf(a, test) : { run: (f) => test(small(f), f), tests: null };
  }
  if (typeof constant === "string") {
    return testOf(a, (x, f) => (typeof x === "string" ? (x === constant) === sign : otherwise(x, f)));
  }
  if (typeof constant === "boolean") {
    const other = !constant;
    return testOf(a, (x, f) => (x === constant ? sign : x === other ? !sign : otherwise(x, f)));
  }
  return { run: (f) => otherwise(operand(f), f), tests: null };
}

function slow(x: Value, y: Value, a: Code, b: Code, sign: boolean, f: Frame): Value {
  const bad = merged(usable(x, a, b, f), usable(y, b, a, f)) ?? unlike(x, y, a, b, f);
  if (bad !== null) return bad;
  const inside = markers(x, y, f);
  if (inside !== null) return inside;
  const same = equal(x, y, f);
  return f.left < 0 ? SPENT : same === sign;
}

function usable(x: Value, a: Code, other: Code, f: Frame): Unknown | Failure | null {
  if (x instanceof NonValue) return x as Unknown | Failure;
  if (!a.fromBindings || other.constant === null) return null;
  if (x === null) return unknown(a.describe(f), "null");
  return contradicts(x, a.type) ? unknown(a.describe(f), "type") : null;
}

function unlike(x: Value, y: Value, a: Code, b: Code, f: Frame): Unknown | null {
  if (kindOf(x) === kindOf(y) || !(isTyped(a, f) || isTyped(b, f))) return null;
  const [typed, other] = isTyped(a, f) ? [a, b] : [b, a];
  return unknown((other.fromBindings ? other : (typed.handsOn ?? typed)).describe(f), "type");
}

/** Returns true if the host declares the operand's type. */
function isTyped(node: Code, f: Frame): boolean {
  const { fromBindings, type, describe } = node.handsOn ?? node;
  if (!fromBindings || type.kind === "error") return false;
  return type.kind !== "dyn" || type.among !== undefined || f.declared?.has(describe(f)) === true;
}

/** Returns one kind for all numbers. */
function kindOf(x: Value): string {
  if (typeof x === "bigint" || x instanceof Uint) return "number";
  if (typeof x !== "object") return typeof x;
  if (x === null || Array.isArray(x)) return x === null ? "null" : "list";
  return isMap(x) || x instanceof LazyObject ? "map" : x.constructor.name;
}

function contradicts(x: Value, declared: Type): boolean {
  switch (declared.kind) {
    case "bool":
      return typeof x !== "boolean";
    case "string":
      return typeof x !== "string";
    case "double":
    case "int":
    case "uint":
      return typeof x === "string" || typeof x === "boolean" || Array.isArray(x);
    default:
      return false;
  }
}

function merged(a: Unknown | Failure | null, b: Unknown | Failure | null): Unknown | Failure | null {
  return a === null ? b : b === null ? a : merge(a, b);
}

function markers(x: Value, y: Value, f: Frame): Unknown | Failure | null {
  if (typeof x !== "object" || typeof y !== "object" || x === null || y === null) return null;
  return merged(marker(x, f), marker(y, f));
}

function marker(x: Value, f: Frame): Unknown | Failure | null {
  let found: Unknown | Failure | null = null;
  const pending: Value[] = [x];
  while (pending.length > 0) {
    const v = pending.pop() as Value;
    if (v instanceof NonValue) found = merged(found, v as Unknown | Failure);
    else if (typeof v === "object" && v !== null && (Array.isArray(v) || isMap(v))) {
      const inside = Array.isArray(v) ? v : v instanceof CelMap ? [] : Object.values(v);
      f.charge(inside.length);
      if (f.left < 0) return SPENT;
      for (const y of inside) if (typeof y === "object" && y !== null) pending.push(y as Value);
    }
  }
  return found;
}

/** Returns the equal double, or the int itself beyond the safe range. */
export function exactNumber(n: bigint): number | bigint {
  return n >= -9007199254740991n && n <= 9007199254740991n ? Number(n) : n;
}

export function membership(a: Code, b: Code, describe: (f: Frame) => string): Code {
  const cost = a.cost + b.cost + 1;
  const done = (run: Run, tests: Code["tests"] = null) => code({ run, tests, cost, type: BOOL, describe });
  const listed = b.constant;
  if (Array.isArray(listed) && listed.length > 0 && listed.every((v) => typeof v === "string")) {
    // Below nine, comparing one by one is faster than hashing.
    const known: ReadonlySet<string> | null = listed.length > 8 ? new Set(listed) : null;
    const { run, tests } = testOf(a, (x, f) => {
      if (typeof x !== "string") return contains(x, listed, a, b, f);
      return known === null ? listed.includes(x) : known.has(x);
    });
    return done(run, tests);
  }
  const wanted = a.constant;
  if (typeof wanted === "string" && b.entries === null) {
    const list = b.run;
    return done((f) => {
      const container = list(f);
      if (!Array.isArray(container)) return contains(wanted, container, a, b, f);
      const n = container.length;
      f.left -= n >> 2;
      for (let i = 0; i < n; i++) {
        const y: unknown = container[i];
        if (y === wanted) return true;
        if (typeof y === "object") return contains(wanted, container, a, b, f);
      }
      return f.left < 0 ? SPENT : false;
    });
  }
  return done((f) => contains(a.run(f), b.run(f), a, b, f));
}

function contains(x: Value, container: Value, a: Code, b: Code, f: Frame): Value {
  const bad = usable(x, a, b, f);
  if (bad !== null) return container instanceof NonValue ? merge(bad, container as Unknown | Failure) : bad;
  if (Array.isArray(container)) {
    let unsure: Unknown | Failure | null = null;
    // Searched once, not for every entry.
    let own: Unknown | Failure | null | undefined;
    f.charge(container.length >> 2);
    if (f.left < 0) return SPENT;
    const scalar = typeof x === "string" || typeof x === "boolean";
    const kind = kindOf(x);
    const is_typed = isTyped(a, f);
    /** Set when a declared type met a value of another kind. */
    let typed: Code | null = null;
    for (let i = 0; i < container.length; i++) {
      const y = container[i] as Value;
      const same = typeof x === "string" && typeof y === "string" ? sameText(x, y, f) : x === y;
      if (f.left < 0) return SPENT;
      if (same) return true;
      if (x !== null && y !== null && !(y instanceof NonValue) && kindOf(y) !== kind) {
        const entry = b.entries?.[i];
        if (is_typed) typed = a;
        else if (entry !== undefined && isTyped(entry, f)) typed = entry;
      }
      if (scalar ? typeof y !== "object" || y === null : false) continue;
      if (y instanceof NonValue) unsure = merged(unsure, y as Unknown | Failure);
      // The budget ended within `equal`.
      else if (!scalar && equal(x, y, f)) return f.left < 0 ? SPENT : true;
      else if (!scalar && typeof x === "object" && x !== null && typeof y === "object" && y !== null) {
        if (own === undefined) own = marker(x, f);
        unsure = merged(unsure, merged(own, marker(y, f)));
      }
    }
    if (typed !== null) unsure = merged(unsure, unknown((typed.handsOn ?? typed).describe(f), "type"));
    return f.left < 0 ? SPENT : (unsure ?? false);
  }
  if (isMap(container)) {
    if (typeof x === "string") chargeForChars(x.length, f);
    return f.left < 0 ? SPENT : (hasKey(container, x) as Value);
  }
  if (container instanceof LazyObject) return typeof x === "string" && container.has(x);
  return combine([x, container]) ?? blame(container, b, f);
}
