import type { Type } from "../check/type.ts";
import { Duration } from "../value/duration.ts";
import { LazyObject } from "../value/lazy.ts";
import { Timestamp } from "../value/timestamp.ts";
import { isMap, Optional, TypeValue, Uint, type Value } from "../value/value.ts";

/** Ignores the elements of containers. */
export function fits(v: Value, t: Type): boolean {
  switch (t.kind) {
    case "bool":
      return typeof v === "boolean";
    case "string":
      return typeof v === "string";
    case "double":
      return typeof v === "number" || typeof v === "bigint" || v instanceof Uint;
    case "int":
      return typeof v === "bigint" || (typeof v === "number" && Number.isSafeInteger(v));
    case "uint":
      return v instanceof Uint;
    case "bytes":
      return v instanceof Uint8Array;
    case "timestamp":
      return v instanceof Timestamp;
    case "duration":
      return v instanceof Duration;
    case "null":
      return v === null;
    case "list":
      return Array.isArray(v);
    case "map":
    case "object":
      return isMap(v) || v instanceof LazyObject;
    case "type":
      return v instanceof TypeValue;
    case "opaque":
      return t.name !== "optional_type" || v instanceof Optional;
    default:
      return true;
  }
}
