import { BOOL, optionalOf, parameter } from "../check/type.ts";
import { type CallContext, type FunctionDeclaration, overload } from "../library.ts";
import { Duration } from "../value/duration.ts";
import { mapKeys } from "../value/equal.ts";
import { Failure } from "../value/unknown.ts";
import { isMap, Optional, Uint, type Value } from "../value/value.ts";

const A = parameter("A");

function isZero(v: Value, call: CallContext): boolean {
  if (v === null || v === false || v === 0 || v === 0n || v === "") return true;
  if (Array.isArray(v) || v instanceof Uint8Array) return v.length === 0;
  if (v instanceof Uint) return v.unsigned === 0n;
  if (v instanceof Duration) return v.seconds === 0 && v.nanos === 0;
  if (!isMap(v)) return false;
  const { length } = mapKeys(v);
  call.charge(length);
  return length === 0;
}

export const OPTIONAL: readonly FunctionDeclaration[] = [
  {
    name: "optional.of",
    style: "global",
    overloads: [overload(optionalOf(A), A)],
    implementation: (_, x: Value) => Optional.of(x),
  },
  {
    name: "optional.ofNonZeroValue",
    style: "global",
    overloads: [overload(optionalOf(A), A)],
    implementation: (call, x: Value) => (isZero(x, call) ? Optional.NONE : Optional.of(x)),
  },
  { name: "optional.none", style: "global", overloads: [overload(optionalOf(A))], implementation: () => Optional.NONE },
  {
    name: "hasValue",
    style: "member",
    overloads: [overload(BOOL, optionalOf(A))],
    implementation: (_, o: Value) => (o instanceof Optional ? o.present : undefined),
  },
  {
    name: "value",
    style: "member",
    overloads: [overload(A, optionalOf(A))],
    implementation: (_, o: Value) =>
      o instanceof Optional ? (o.present ? o.held : new Failure("the optional is empty")) : undefined,
  },
  {
    name: "or",
    style: "member",
    overloads: [overload(optionalOf(A), optionalOf(A), optionalOf(A))],
    decides: (o) => (o instanceof Optional && o.present ? o : undefined),
    implementation: (_, o: Value, other: Value) =>
      o instanceof Optional && other instanceof Optional ? (o.present ? o : other) : undefined,
  },
  {
    name: "orValue",
    style: "member",
    overloads: [overload(A, optionalOf(A), A)],
    decides: (o) => (o instanceof Optional && o.present ? o.held : undefined),
    implementation: (_, o: Value, other: Value) => (o instanceof Optional ? (o.present ? o.held : other) : undefined),
  },
];
