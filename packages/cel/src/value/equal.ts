import { compareDurations, Duration } from "./duration.ts";
import { compareTimestamps, Timestamp } from "./timestamp.ts";
import { type Failure, isAbsence, isNonValue, merge, type Unknown } from "./unknown.ts";
import { CelMap, isMap, isRecord, mapKey, Optional, TypeValue, Uint, type Value } from "./value.ts";

export interface Charged {
  readonly left: number;
  charge(units: number): void;
}

/** Characters read for one unit. Shorter texts cost only their node. */
export const chars_a_unit = 4_096;

/** Charges because an agent may send a text of 1 MiB, and a loop may read it each time. */
export function chargeForChars(chars: number, f: Charged): void {
  f.charge(Math.trunc(chars / chars_a_unit));
}

export function sameText(a: string, b: string, f: Charged): boolean {
  if (a.length !== b.length) return false;
  chargeForChars(a.length, f);
  return a === b;
}

/**
 * Numbers compare across int, uint and double; other types differ. Never fails. Not recursive, because a document may
 * be nested deeper than the stack.
 */
export function equal(a: Value, b: Value, f: Charged): boolean {
  const pending: Value[] = [];
  if (!equalHere(a, b, pending, f)) return false;
  while (pending.length > 0 && f.left >= 0) {
    const y = pending.pop() as Value;
    const x = pending.pop() as Value;
    if (!equalHere(x, y, pending, f)) return false;
  }
  return true;
}

/** Appends the elements of containers to `pending`. */
function equalHere(a: Value, b: Value, pending: Value[], f: Charged): boolean {
  if (typeof a === "string") return typeof b === "string" && sameText(a, b, f);
  if (a === b) return true;
  switch (typeof a) {
    case "number":
    case "bigint":
      return compareNumbers(a, b) === 0;
    case "object":
      break;
    default:
      return false;
  }
  if (a instanceof Uint) return compareNumbers(a, b) === 0;
  if (a === null || b === null || typeof b !== "object") return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    f.charge(a.length);
    for (let i = a.length - 1; i >= 0; i--) pending.push(a[i] as Value, b[i] as Value);
    return true;
  }
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array) || a.length !== b.length) return false;
    f.charge(a.length >> 4);
    return a.every((byte, i) => byte === b[i]);
  }
  if (a instanceof Timestamp) return b instanceof Timestamp && compareTimestamps(a, b) === 0;
  if (a instanceof Duration) return b instanceof Duration && compareDurations(a, b) === 0;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.typeName === b.typeName;
  if (a instanceof Optional) {
    if (!(b instanceof Optional) || a.present !== b.present) return false;
    pending.push(a.held, b.held);
    return true;
  }
  return isMap(a) && isMap(b) && equalMaps(a, b, pending, f);
}

type AnyMap = CelMap | Readonly<Record<string, Value>>;

function equalMaps(a: AnyMap, b: AnyMap, pending: Value[], f: Charged): boolean {
  const keys = mapKeys(a);
  // Charged first, because a search may compare one map with thousands.
  f.charge(keys.length);
  if (keys.length !== mapSize(b)) return false;
  for (const key of keys) {
    const other = mapGet(b, key);
    if (other === undefined) return false;
    if (typeof key === "string") chargeForChars(key.length, f);
    pending.push(mapGet(a, key) as Value, other);
  }
  return true;
}

export function mapSize(m: AnyMap): number {
  return m instanceof CelMap ? m.entries.size : Object.keys(m).length;
}

/**
 * Returns the keys that a map certainly has. A value marked missing or null makes its key absent, as for `has`. Another
 * marker (stale) makes the result unknown.
 */
export function presentKeys(m: AnyMap): Value[] | Unknown | Failure {
  const keys = mapKeys(m);
  if (m instanceof CelMap) return keys;
  let unsure: Unknown | Failure | null = null;
  let absent = false;
  for (const value of Object.values(m)) {
    if (!isNonValue(value)) continue;
    if (isAbsence(value)) absent = true;
    else unsure = unsure === null ? value : merge(unsure, value);
  }
  return unsure ?? (absent ? keys.filter((key) => !isAbsence(m[key as string])) : keys);
}

/** Treats markers as `presentKeys` does. */
export function hasKey(m: AnyMap, key: Value): boolean | Unknown | Failure {
  const value = mapGet(m, key);
  if (!isNonValue(value)) return value !== undefined;
  return isAbsence(value) ? false : value;
}

export function mapKeys(m: CelMap | Readonly<Record<string, Value>>): Value[] {
  return m instanceof CelMap ? Array.from(m.entries.values(), ([key]) => key) : Object.keys(m);
}

/** Returns undefined if the key is absent or invalid. */
export function mapGet(m: Value, key: Value): Value | undefined {
  if (m instanceof CelMap) {
    const k = mapKey(key);
    return k === null ? undefined : m.entries.get(k)?.[1];
  }
  return isRecord(m) && typeof key === "string" && Object.hasOwn(m, key) ? m[key] : undefined;
}

/**
 * Returns NaN if an operand is NaN or not a number. int and uint compare exactly, but beside a double they are rounded
 * to one (`comparisons/lt_literal`).
 */
export function compareNumbers(a: Value, b: Value): number {
  const x = a instanceof Uint ? a.unsigned : a;
  const y = b instanceof Uint ? b.unsigned : b;
  if (typeof x === "bigint" && typeof y === "bigint") return x < y ? -1 : x > y ? 1 : 0;
  if ((typeof x !== "bigint" && typeof x !== "number") || (typeof y !== "bigint" && typeof y !== "number"))
    return Number.NaN;
  const p = Number(x);
  const q = Number(y);
  return p < q ? -1 : p > q ? 1 : p === q ? 0 : Number.NaN;
}

/** Compares by code point. UTF-16 order differs above U+FFFF. */
export function compareStrings(a: string, b: string, f: Charged): number {
  const n = Math.min(a.length, b.length);
  chargeForChars(n, f);
  let i = 0;
  // Comparing pieces is 40 times faster for long texts with a common beginning.
  while (i < n && a.slice(i, i + chars_a_unit) === b.slice(i, i + chars_a_unit)) i += chars_a_unit;
  for (; i < n; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      const high = (c: number) => (c >= 0xd800 && c <= 0xdfff ? c + 0x2000 : c >= 0xe000 ? c - 0x800 : c);
      return high(x) - high(y);
    }
  }
  return a.length - b.length;
}

export function compareBytes(a: Uint8Array, b: Uint8Array, f: Charged): number {
  const n = Math.min(a.length, b.length);
  f.charge(n >> 8);
  for (let i = 0; i < n; i++) {
    const d = (a[i] as number) - (b[i] as number);
    if (d !== 0) return d;
  }
  return a.length - b.length;
}

export function codePointCount(s: string): number {
  let n = s.length;
  for (let i = 0; i < s.length - 1; i++) {
    if ((s.charCodeAt(i) & 0xfc00) === 0xd800 && (s.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      n--;
      i++;
    }
  }
  return n;
}
