import type { Duration } from "./duration.ts";
import type { LazyObject } from "./lazy.ts";
import type { Timestamp } from "./timestamp.ts";
import type { Failure, Unknown } from "./unknown.ts";

/**
 * Value of an expression: double is number, int is bigint, bytes is Uint8Array, a list is an array. A map is a plain
 * object (from bindings) or a `CelMap` (from a literal).
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint
  | Uint8Array
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | CelMap
  | LazyObject
  | Unknown
  | Failure
  | readonly Value[]
  | { readonly [key: string]: Value };

export class Uint {
  readonly unsigned: bigint;

  constructor(unsigned: bigint) {
    this.unsigned = unsigned;
  }
}

/** Result of `type(x)`. */
export class TypeValue {
  readonly typeName: string;

  constructor(typeName: string) {
    this.typeName = typeName;
  }
}

/** Result of `a.?b` and `optional.of(x)`. `held` is null if absent. */
export class Optional {
  readonly present: boolean;
  readonly held: Value;

  private constructor(present: boolean, held: Value) {
    this.present = present;
    this.held = held;
  }

  static readonly NONE: Optional = new Optional(false, null);

  static of(value: Value): Optional {
    return new Optional(true, value);
  }
}

/** Normalized: 1, 1u and 1.0 are one key. */
export type MapKey = string | boolean | number | bigint;

/** A map made by an expression. Keys are strings, bools and numbers, in source order. */
export class CelMap {
  readonly entries: ReadonlyMap<MapKey, readonly [key: Value, value: Value]>;

  constructor(entries: ReadonlyMap<MapKey, readonly [Value, Value]>) {
    this.entries = entries;
  }
}

/** Returns null for an invalid key (a fraction, null, a list). */
export function mapKey(key: Value): MapKey | null {
  switch (typeof key) {
    case "string":
    case "boolean":
      return key;
    case "number":
      return Number.isSafeInteger(key) ? (key === 0 ? 0 : key) : Number.isInteger(key) ? BigInt(key) : null;
    case "bigint":
      return key >= -9007199254740991n && key <= 9007199254740991n ? Number(key) : key;
    default:
      return key instanceof Uint ? mapKey(key.unsigned) : null;
  }
}

export function isRecord(v: unknown): v is { readonly [key: string]: Value } {
  if (typeof v !== "object" || v === null) return false;
  const proto: unknown = Object.getPrototypeOf(v);
  return proto === Object.prototype || proto === null;
}

export function isMap(v: unknown): v is CelMap | { readonly [key: string]: Value } {
  return v instanceof CelMap || isRecord(v);
}
