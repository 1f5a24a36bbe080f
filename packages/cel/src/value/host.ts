import type { Charged } from "./equal.ts";
import { LazyObject } from "./lazy.ts";
import { Failure, isAbsence, NonValue, SPENT, type Unknown } from "./unknown.ts";
import { CelMap, isRecord, Optional, Uint, type Value } from "./value.ts";

class Stop extends Error {
  readonly why: Failure | Unknown;

  constructor(why: Failure | Unknown) {
    super();
    this.why = why;
  }
}

/**
 * Copies containers, so that changes do not reach the bindings. int and uint become number, or bigint beyond the safe
 * range. A map becomes an object if all keys are strings, otherwise a Map. Omits entries marked missing or null; any
 * other unknown makes the result unknown. Charges for text, because a container may repeat one long text.
 */
export function toHost(value: Value, f: Charged): unknown {
  // Not thrown, because a stack trace costs 5 µs.
  if (value instanceof NonValue) return value;
  try {
    return copy(value, f, 0);
  } catch (e) {
    if (e instanceof Stop) return e.why;
    throw e;
  }
}

function copy(v: Value, f: Charged, depth: number): unknown {
  f.charge(typeof v === "string" || v instanceof Uint8Array ? 1 + (v.length >> 4) : 1);
  if (f.left < 0) throw new Stop(SPENT);
  switch (typeof v) {
    case "bigint":
      return whole(v);
    case "function":
    case "symbol":
    case "undefined":
      throw new Stop(new Failure("a binding contains something that is not a value"));
    case "object":
      break;
    default:
      return v;
  }
  if (v === null) return null;
  if (depth > 200) throw new Stop(new Failure("the result is nested too deeply"));
  if (Array.isArray(v)) return v.map((x) => copy(x as Value, f, depth + 1));
  if (v instanceof Uint) return whole(v.unsigned);
  if (v instanceof Uint8Array) return v.slice();
  if (v instanceof Optional) return v.present ? Optional.of(copy(v.held, f, depth + 1) as Value) : v;
  if (v instanceof CelMap) return copyMap(v, f, depth);
  if (v instanceof LazyObject) throw new Stop(new Failure("a lazy object cannot be a result"));
  if (isRecord(v)) {
    const entries = Object.entries(v).filter(([, x]) => !isAbsence(x));
    f.charge(entries.reduce((sum, [key]) => sum + (key.length >> 4), 0));
    return objectOf(entries.map(([key, x]) => [key, copy(x, f, depth + 1)]));
  }
  if (v instanceof NonValue) throw new Stop(v as Unknown | Failure);
  return v;
}

function whole(v: bigint): number | bigint {
  return v >= -9007199254740991n && v <= 9007199254740991n ? Number(v) : v;
}

function copyMap(m: CelMap, f: Charged, depth: number): unknown {
  const entries = Array.from(m.entries.values(), ([key, x]) => [copy(key, f, depth), copy(x, f, depth + 1)] as const);
  if (entries.every(([key]) => typeof key === "string"))
    return objectOf(entries as readonly (readonly [string, unknown])[]);
  return new Map(entries);
}

/** Makes `__proto__` an ordinary key. */
function objectOf(entries: readonly (readonly [string, unknown])[]): object {
  const out: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    if (key === "__proto__")
      Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true });
    else out[key] = value;
  }
  return out;
}
