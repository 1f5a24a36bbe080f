import type { Type } from "../check/type.ts";
import type { Place } from "../syntax/ast.ts";
import { chargeForChars, mapGet } from "../value/equal.ts";
import { LazyObject } from "../value/lazy.ts";
import { combine, isAbsence, NonValue, SPENT, Unknown, unknown } from "../value/unknown.ts";
import { isMap, isRecord, mapKey, Optional, Uint, type Value } from "../value/value.ts";
import { blame, type Code, code, type Run } from "./code.ts";
import type { Frame } from "./frame.ts";
import { field, isRisky, NOT_A_MAP, type Path } from "./paths.ts";

/** Compiles `operand.key` for operands other than plain paths into the bindings. */
export function select(operand: Code, key: string, type: Type): Code {
  const describe = (f: Frame) => `${operand.describe(f)}.${key}`;
  const risky = isRisky(key);
  const run: Run = (f) => {
    const o = operand.run(f);
    if (!risky && typeof o === "object" && o !== null) {
      const v = (o as { readonly [key: string]: Value })[key];
      if (v !== undefined) return v;
    }
    if (o instanceof Optional) return below(o, key, operand, f);
    return selectValue(o, key, operand, f);
  };
  return code({
    run,
    cost: operand.cost + 1,
    type,
    describe,
    isPath: operand.isPath,
    fromBindings: operand.fromBindings,
  });
}

function selectValue(o: Value, key: string, operand: Code, f: Frame): Value {
  if (o instanceof Unknown) return operand.isPath ? o.below(`.${key}`) : o;
  if (o instanceof NonValue) return o as Value;
  if (o === null) return unknown(`${operand.describe(f)}.${key}`, "null");
  if (o instanceof LazyObject) return o.get(key, `${operand.describe(f)}.${key}`, f) as Value;
  const v = field(o, key);
  if (v === NOT_A_MAP) return unknown(operand.describe(f), "type");
  return v === undefined ? unknown(`${operand.describe(f)}.${key}`, "missing") : v;
}

export function selectOptional(operand: Code, key: string, type: Type): Code {
  const describe = (f: Frame) => `${operand.describe(f)}.${key}`;
  const run: Run = (f) => {
    const o = operand.run(f);
    return o instanceof Optional ? below(o, key, operand, f) : optionalField(o, key, operand, f);
  };
  const held = type.kind === "opaque" && type.name === "optional_type" ? (type.parameters[0] ?? type) : type;
  const handsOn = operand.fromBindings ? { fromBindings: true, type: held, describe } : null;
  return code({ run, cost: operand.cost + 1, type, describe, handsOn });
}

/** Returns a field of an optional. An optional of null has no fields, which is an error. */
function below(o: Optional, key: string, operand: Code, f: Frame): Value {
  if (!o.present) return o;
  return o.held === null ? blame(null, operand, f) : optionalField(o.held, key, operand, f);
}

/** Returns absent for a missing field or JSON null, unknown for an unknown field. */
function optionalField(o: Value, key: string, operand: Code, f: Frame): Value {
  const v = selectValue(o, key, operand, f);
  if (isAbsence(v)) return Optional.NONE;
  if (v instanceof NonValue) return v as Value;
  return v === null && isRecord(o) ? Optional.NONE : Optional.of(v);
}

/** Compiles `has(operand.key)`: false if the field, or a container above it, is missing or null. */
export function has(operand: Code, key: string, type: Type, describe: (f: Frame) => string): Code {
  const risky = isRisky(key);
  const run: Run = (f) => {
    const o = operand.run(f);
    if (!risky && typeof o === "object" && o !== null) {
      const v = (o as { readonly [key: string]: Value })[key];
      if (v === null) return false;
      if (v !== undefined) return typeof v === "object" && v instanceof NonValue ? hasValue(v as Value) : true;
      if (isRecord(o)) return false;
    }
    return hasSlow(o, key, operand, f);
  };
  return code({ run, cost: operand.cost + 1, type, describe });
}

/**
 * Compiles `has` of a path, which looks up the field's object once per evaluation. `general` is the ordinary form, for
 * unusual values.
 */
export function hasPath(path: Path, general: () => Code, type: Type, describe: (f: Frame) => string): Code {
  let unusual: Code | null = null;
  const run: Run = (f) => {
    const o = path.owner(f);
    if (o === null) {
      if (unusual === null) unusual = general();
      return unusual.run(f);
    }
    const v = o[path.key];
    if (v === undefined || v === null) return false;
    return typeof v === "object" && v instanceof NonValue ? hasValue(v as Value) : true;
  };
  return code({ run, cost: path.nodes, type, describe, asksFor: path });
}

function hasSlow(o: Value, key: string, operand: Code, f: Frame): Value {
  if (o instanceof Optional) return o.present ? hasSlow(o.held, key, operand, f) : false;
  if (isAbsence(o) && operand.isPath) return false;
  const v = selectValue(o, key, operand, f);
  return v === null && isRecord(o) ? false : hasValue(v);
}

function hasValue(v: Value): Value {
  if (isAbsence(v)) return false;
  return v instanceof NonValue ? (v as Value) : true;
}

export function index(operand: Code, at: Code, optional: boolean, type: Type, _place: Place): Code {
  const describe = (f: Frame) => operand.describe(f) + suffix(at.run(f));
  const run: Run = (f) => {
    const o = operand.run(f);
    const k = at.run(f);
    const through = o instanceof Optional;
    if (through && !o.present) return o;
    const found = indexValue(through ? (o.held as Value) : o, k, operand, at, f);
    if (!optional && !through) return found;
    if (isAbsence(found)) return Optional.NONE;
    return found instanceof NonValue ? found : Optional.of(found);
  };
  return code({
    run,
    cost: operand.cost + at.cost + 1,
    type,
    describe,
    isPath: operand.isPath,
    fromBindings: operand.fromBindings,
  });
}

function indexValue(o: Value, k: Value, operand: Code, at: Code, f: Frame): Value {
  if (k instanceof NonValue) return combine([o, k]) as Value;
  if (Array.isArray(o)) {
    const i = position(k);
    if (i === null) return blame(k, at, f);
    const v = o[i] as Value | undefined;
    return v === undefined ? unknown(operand.describe(f) + suffix(k), "missing") : v;
  }
  if (o instanceof Unknown) return operand.isPath ? o.below(suffix(k)) : o;
  if (o instanceof NonValue) return o as Value;
  if (o instanceof LazyObject && typeof k === "string") return o.get(k, operand.describe(f) + suffix(k), f) as Value;
  if (!isMap(o)) return blame(o, operand, f);
  if (typeof k === "string") chargeForChars(k.length, f);
  if (f.left < 0) return SPENT;
  if (mapKey(k) === null && typeof k !== "number") return blame(k, at, f);
  return mapGet(o, k) ?? (mapGet(o, k) === null ? null : unknown(operand.describe(f) + suffix(k), "missing"));
}

function position(k: Value): number | null {
  if (typeof k === "number") return Number.isInteger(k) ? k : null;
  if (typeof k === "bigint") return Number(k);
  return k instanceof Uint ? Number(k.unsigned) : null;
}

/** Longer names are omitted, because each missing fact would copy them. */
const name_max = 1_024;

function suffix(k: Value): string {
  if (typeof k === "string" && k.length > name_max) return "[…]";
  if (typeof k === "string") return /^[A-Za-z_]\w*$/.test(k) ? `.${k}` : `[${JSON.stringify(k)}]`;
  if (k instanceof Uint) return `[${k.unsigned}]`;
  return typeof k === "bigint" || typeof k === "number" || typeof k === "boolean" ? `[${k}]` : "[…]";
}
