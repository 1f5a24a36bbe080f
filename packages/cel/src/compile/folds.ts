import type { Type } from "../check/type.ts";
import type { Fold } from "../syntax/ast.ts";
import { chargeForChars, mapGet, mapKeys, presentKeys } from "../value/equal.ts";
import { combine, Failure, isNonValue, merge, NonValue, SPENT, type Unknown } from "../value/unknown.ts";
import { CelMap, isMap, type MapKey, mapKey, Optional, type Value } from "../value/value.ts";
import { blame, type Code, code, type Run } from "./code.ts";
import type { Frame } from "./frame.ts";

interface Steps {
  readonly first: readonly Value[];
  readonly second: readonly Value[] | null;
}

/** `slot` holds the first variable. Each step charges its nodes. */
export function fold(
  e: Fold,
  range: Code,
  filter: Code | null,
  body: Code | null,
  slot: number,
  type: Type,
  describe: (f: Frame) => string,
): Code {
  const run = runOf(e, range, filter, body, slot);
  return code({ run, cost: range.cost + 1, type, describe });
}

function runOf(e: Fold, range: Code, filter: Code | null, body: Code | null, slot: number): Run {
  const two = e.names.length === 2;
  switch (e.macro) {
    case "all":
      return decide(range, body as Code, slot, two, false);
    case "exists":
      return decide(range, body as Code, slot, two, true);
    case "exists_one":
      return existsOne(range, body as Code, slot, two);
    case "filter":
      return gather(range, filter, null, slot, two);
    case "map":
    case "transformList":
      return gather(range, filter, body, slot, two);
    case "transformMap":
    case "transformMapEntry":
      return gatherMap(range, filter, body as Code, slot, e.macro === "transformMapEntry");
  }
}

function stepsOf(range: Code, two: boolean, f: Frame): Steps | Unknown | Failure {
  const r = range.run(f);
  if (Array.isArray(r)) return two ? { first: r.map((_, i) => BigInt(i)), second: r } : { first: r, second: null };
  if (!isMap(r)) return blame(r, range, f);
  const keys = presentKeys(r);
  if (isNonValue(keys)) return keys;
  f.charge(keys.length);
  return { first: keys, second: two ? keys.map((k) => mapGet(r, k) as Value) : null };
}

function place(f: Frame, slot: number, steps: Steps, i: number): void {
  f.locals[slot] = steps.first[i] as Value;
  f.positions[slot] = i;
  if (steps.second !== null) {
    f.locals[slot + 1] = steps.second[i] as Value;
    f.positions[slot + 1] = i;
  }
}

/** Compiles `all` (decisive false) and `exists` (decisive true), three-valued like `&&` and `||`. */
function decide(range: Code, body: Code, slot: number, two: boolean, decisive: boolean): Run {
  const test = body.run;
  const cost = body.cost + 1;
  return (f) => {
    const steps = stepsOf(range, two, f);
    if (steps instanceof NonValue) return steps as Value;
    let bad: Unknown | Failure | null = null;
    for (let i = 0; i < steps.first.length; i++) {
      f.left -= cost;
      if (f.left < 0) return SPENT;
      place(f, slot, steps, i);
      const x = test(f);
      if (x === decisive) return decisive;
      if (x !== !decisive) {
        const why = blame(x, body, f);
        bad = bad === null ? why : merge(bad, why);
      }
    }
    return f.left < 0 ? SPENT : (bad ?? !decisive);
  };
}

function existsOne(range: Code, body: Code, slot: number, two: boolean): Run {
  return (f) => {
    const steps = stepsOf(range, two, f);
    if (steps instanceof NonValue) return steps as Value;
    let count = 0;
    let bad: Unknown | Failure | null = null;
    for (let i = 0; i < steps.first.length; i++) {
      f.left -= body.cost + 1;
      if (f.left < 0) return SPENT;
      place(f, slot, steps, i);
      const x = body.run(f);
      if (x === true) count++;
      else if (x !== false) {
        const why = blame(x, body, f);
        bad = bad === null ? why : merge(bad, why);
      }
    }
    return f.left < 0 ? SPENT : (bad ?? count === 1);
  };
}

function gather(range: Code, filter: Code | null, body: Code | null, slot: number, two: boolean): Run {
  const cost = (filter?.cost ?? body?.cost ?? 0) + 1;
  return (f) => {
    const steps = stepsOf(range, two, f);
    if (steps instanceof NonValue) return steps as Value;
    const out: Value[] = [];
    let bad: Unknown | Failure | null = null;
    const spoil = (why: Unknown | Failure) => {
      bad = bad === null ? why : merge(bad, why);
    };
    for (let i = 0; i < steps.first.length; i++) {
      f.left -= cost;
      if (f.left < 0) return SPENT;
      place(f, slot, steps, i);
      if (filter !== null) {
        const x = filter.run(f);
        if (x === false) continue;
        if (x !== true) {
          spoil(blame(x, filter, f));
          continue;
        }
        f.left -= body?.cost ?? 0;
      }
      const v = body === null ? (f.locals[slot] as Value) : body.run(f);
      if (v instanceof NonValue) spoil(v as Unknown | Failure);
      else out.push(v);
    }
    return f.left < 0 ? SPENT : (bad ?? out);
  };
}

function gatherMap(range: Code, filter: Code | null, body: Code, slot: number, byEntry: boolean): Run {
  return (f) => {
    const steps = stepsOf(range, true, f);
    if (steps instanceof NonValue) return steps as Value;
    const out = new Map<MapKey, readonly [Value, Value]>();
    let bad: Unknown | Failure | null = null;
    const spoil = (why: Unknown | Failure) => {
      bad = bad === null ? why : merge(bad, why);
    };
    for (let i = 0; i < steps.first.length; i++) {
      f.left -= body.cost + (filter?.cost ?? 0) + 1;
      if (f.left < 0) return SPENT;
      place(f, slot, steps, i);
      if (filter !== null) {
        const x = filter.run(f);
        if (x === false) continue;
        if (x !== true) {
          spoil(blame(x, filter, f));
          continue;
        }
      }
      const v = body.run(f);
      if (v instanceof NonValue) spoil(v as Unknown | Failure);
      else if (!byEntry) put(out, steps.first[i] as Value, v);
      else if (!isMap(v)) spoil(blame(v, body, f));
      else {
        const keys = mapKeys(v);
        f.charge(keys.length);
        if (f.left < 0) return SPENT;
        for (const k of keys)
          if (!put(out, k, mapGet(v, k) as Value)) spoil(new Failure("two entries have the same key"));
      }
    }
    return f.left < 0 ? SPENT : (bad ?? new CelMap(out));
  };
}

function put(out: Map<MapKey, readonly [Value, Value]>, key: Value, value: Value): boolean {
  const k = mapKey(key);
  if (k === null || out.has(k)) return false;
  out.set(k, [key, value]);
  return true;
}

export function bind(value: Code, body: Code, slot: number, type: Type, describe: (f: Frame) => string): Code {
  const run: Run = (f) => {
    f.locals[slot] = value.run(f);
    return body.run(f);
  };
  return code({ run, cost: value.cost + body.cost + 1, type, describe });
}

/** Compiles `optMap`, and `optFlatMap`, whose body returns an optional. */
export function optionalMap(
  target: Code,
  body: Code,
  slot: number,
  flat: boolean,
  type: Type,
  describe: (f: Frame) => string,
): Code {
  const run: Run = (f) => {
    const o = target.run(f);
    if (!(o instanceof Optional)) return blame(o, target, f);
    if (!o.present) return o;
    f.left -= body.cost;
    if (f.left < 0) return SPENT;
    f.locals[slot] = o.held;
    const v = body.run(f);
    if (v instanceof NonValue) return v as Value;
    if (flat) return v instanceof Optional ? v : blame(v, body, f);
    return Optional.of(v);
  };
  return code({ run, cost: target.cost + 1, type, describe });
}

export function list(
  elements: readonly { readonly value: Code; readonly optional: boolean }[],
  type: Type,
  describe: (f: Frame) => string,
): Code {
  const cost = elements.reduce((sum, e) => sum + e.value.cost, 1);
  if (elements.every((e) => !e.optional && e.value.constant !== undefined)) {
    const constant = Object.freeze(elements.map((e) => e.value.constant as Value));
    return code({ run: () => constant, constant, cost, type, describe });
  }
  const run: Run = (f) => {
    const out: Value[] = [];
    for (const e of elements) {
      const v = e.value.run(f);
      if (!e.optional || v instanceof NonValue) out.push(v);
      else if (!(v instanceof Optional)) out.push(blame(v, e.value, f));
      else if (v.present) out.push(v.held);
    }
    return combine(out) ?? out;
  };
  const entries = elements.some((e) => e.optional) ? null : elements.map((e) => e.value);
  return code({ run, cost, type, describe, entries });
}

interface EntryCode {
  readonly key: Code;
  readonly value: Code;
  readonly optional: boolean;
}

export function map(entries: readonly EntryCode[], type: Type, describe: (f: Frame) => string): Code {
  const cost = entries.reduce((sum, e) => sum + e.key.cost + e.value.cost, 1);
  const run: Run = (f) => {
    const out = new Map<MapKey, readonly [Value, Value]>();
    let bad: Value | null = null;
    for (const e of entries) {
      const key = e.key.run(f);
      let value = e.value.run(f);
      const wrong = combine([key, value]);
      if (wrong !== null) {
        bad = bad === null ? wrong : (merge(bad as Unknown, wrong) as Value);
        continue;
      }
      if (e.optional) {
        if (!(value instanceof Optional)) return blame(value, e.value, f);
        if (!value.present) continue;
        value = value.held;
      }
      if (typeof key === "string" && e.key.constant === undefined) {
        chargeForChars(key.length, f);
        if (f.left < 0) return SPENT;
      }
      const k = typeof key === "number" ? null : mapKey(key);
      if (k === null) return new Failure("a map key must be a string, int, uint or bool");
      if (out.has(k)) return new Failure(`the map has the key ${String(k)} twice`);
      out.set(k, [key, value]);
    }
    return bad ?? new CelMap(out);
  };
  if (entries.every((e) => !e.optional && e.key.constant !== undefined && e.value.constant !== undefined)) {
    const constant = run(null as never);
    if (!(constant instanceof NonValue)) return code({ run: () => constant, constant, cost, type, describe });
  }
  return code({ run, cost, type, describe });
}
