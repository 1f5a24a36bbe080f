import { Duration } from "../value/duration.ts";
import { Timestamp } from "../value/timestamp.ts";
import { Optional, TypeValue, Uint, type Value } from "../value/value.ts";

export function typeNameOf(v: Value): string {
  switch (typeof v) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
  }
  if (v === null) return "null_type";
  if (Array.isArray(v)) return "list";
  if (v instanceof Uint) return "uint";
  if (v instanceof Uint8Array) return "bytes";
  if (v instanceof Timestamp) return "google.protobuf.Timestamp";
  if (v instanceof Duration) return "google.protobuf.Duration";
  if (v instanceof TypeValue) return "type";
  return v instanceof Optional ? "optional_type" : "map";
}
