import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  opaque,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
} from "../src/check/type.ts";
import { Duration, parseDuration } from "../src/value/duration.ts";
import { mapGet, mapKeys, mapSize } from "../src/value/equal.ts";
import { parseTimestamp, Timestamp } from "../src/value/timestamp.ts";
import { CelMap, isMap, mapKey, TypeValue, Uint, type Value } from "../src/value/value.ts";
import type { SpecType, SpecValue } from "./suite.ts";

export function fromSpec(v: SpecValue): Value {
  if (v.boolValue !== undefined) return v.boolValue;
  if (v.int64Value !== undefined) return BigInt(v.int64Value);
  if (v.uint64Value !== undefined) return new Uint(BigInt(v.uint64Value));
  if (v.doubleValue !== undefined) return Number(v.doubleValue);
  if (v.stringValue !== undefined) return v.stringValue;
  if (v.bytesValue !== undefined) return Uint8Array.from(Buffer.from(v.bytesValue, "base64"));
  if (v.typeValue !== undefined) return new TypeValue(v.typeValue);
  if (v.listValue !== undefined) return (v.listValue.values ?? []).map(fromSpec);
  if (v.mapValue !== undefined) {
    const entries = (v.mapValue.entries ?? []).map((e) => [fromSpec(e.key), fromSpec(e.value)] as const);
    return new CelMap(new Map(entries.map(([key, value]) => [mapKey(key) ?? String(key), [key, value] as const])));
  }
  if (v.objectValue !== undefined) {
    const text = v.objectValue.value ?? "";
    const found = v.objectValue["@type"].endsWith(".Duration") ? parseDuration(text) : parseTimestamp(text);
    if (found === null) throw new Error(`not a timestamp or duration: ${text}`);
    return found;
  }
  return null;
}

/** Compares value and type: 1 differs from 1.0. NaN equals NaN. */
export function sameValue(a: Value, b: Value): boolean {
  if (a instanceof Uint) return b instanceof Uint && a.unsigned === b.unsigned;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.typeName === b.typeName;
  if (a instanceof Timestamp || a instanceof Duration)
    return a.constructor === b?.constructor && String(a) === String(b);
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((x, i) => sameValue(x as Value, b[i] as Value));
  if (isMap(a))
    return (
      isMap(b) &&
      mapSize(a) === mapSize(b) &&
      mapKeys(a).every((k) => sameValue(mapGet(a, k) as Value, mapGet(b, k) as Value))
    );
  if (typeof a === "number" && typeof b === "number") return a === b || (Number.isNaN(a) && Number.isNaN(b));
  return a === b;
}

const PRIMITIVES: Readonly<Record<string, Type>> = { BOOL, INT64: INT, UINT64: UINT, DOUBLE, STRING, BYTES };

export function typeFromSpec(t: SpecType): Type {
  if (t.primitive !== undefined) return PRIMITIVES[t.primitive] ?? DYN;
  if (t.null !== undefined) return NULL;
  if (t.wellKnown !== undefined)
    return t.wellKnown === "TIMESTAMP" ? TIMESTAMP : t.wellKnown === "DURATION" ? DURATION : DYN;
  if (t.messageType === "google.protobuf.Timestamp") return TIMESTAMP;
  if (t.messageType === "google.protobuf.Duration") return DURATION;
  if (t.listType !== undefined) return listOf(typeFromSpec(t.listType.elemType ?? { dyn: {} }));
  if (t.mapType !== undefined)
    return mapOf(typeFromSpec(t.mapType.keyType ?? { dyn: {} }), typeFromSpec(t.mapType.valueType ?? { dyn: {} }));
  if (t.typeParam !== undefined) return parameter(t.typeParam);
  if (t.type !== undefined) return typeOf(typeFromSpec(t.type));
  if (t.abstractType !== undefined)
    return opaque(t.abstractType.name, ...(t.abstractType.parameterTypes ?? []).map(typeFromSpec));
  return DYN;
}
