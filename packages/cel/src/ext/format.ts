import type { CallContext } from "../library.ts";
import { typeNameOf } from "../stdlib/type-names.ts";
import { Duration } from "../value/duration.ts";
import { mapGet, mapKeys } from "../value/equal.ts";
import { Timestamp } from "../value/timestamp.ts";
import { Failure, NonValue, SPENT } from "../value/unknown.ts";
import { isMap, TypeValue, Uint, type Value } from "../value/value.ts";

const precision_max = 100;
const clausePattern = /%(?:\.([0-9]+))?(.?)/gsu;

class Misfit extends Error {}

/** Supports `%s %d %f %e %b %o %x %X`, with a precision for `%f` and `%e`. */
export function format(text: string, args: readonly Value[], call: CallContext): Value {
  let next = 0;
  let bad: Value | null = null;
  try {
    const out = text.replace(clausePattern, (_, precision: string | undefined, verb: string) => {
      if (verb === "%" && precision === undefined) return "%";
      if (!"sdfebox X".includes(verb) || verb === " " || verb === "")
        throw new Misfit(`unrecognized formatting clause: %${verb}`);
      if (call.left < 0) throw new Misfit(spent_mark);
      if (next >= args.length) throw new Misfit(`index ${next} out of range`);
      const value = args[next++] as Value;
      if (value instanceof NonValue) bad ??= value as Value;
      const digits = precision === undefined ? 6 : Number(precision);
      if (digits > precision_max) throw new Misfit(`a precision above ${precision_max}`);
      const piece = value instanceof NonValue ? "" : clause(verb, digits, value, call);
      call.charge(1 + (piece.length >> 4));
      return piece;
    });
    return bad ?? out;
  } catch (e) {
    if (e instanceof Misfit) return e.message === spent_mark ? SPENT : new Failure(e.message);
    throw e;
  }
}

const spent_mark = "spent";

function clause(verb: string, digits: number, v: Value, call: CallContext): string {
  switch (verb) {
    case "s":
      return show(v, call, 0);
    case "d":
      if (typeof v === "number") return special(v) ?? (Number.isInteger(v) ? BigInt(v).toString() : String(v));
      return whole(v, "decimal").toString();
    case "f":
      return special(real(v, "fixed-point")) ?? fixed(real(v, "fixed-point"), digits);
    case "e":
      return special(real(v, "scientific")) ?? scientific(real(v, "scientific"), digits);
    case "b":
      return typeof v === "boolean" ? (v ? "1" : "0") : whole(v, "binary").toString(2);
    case "o":
      return whole(v, "octal").toString(8);
    default: {
      const hex =
        typeof v === "string"
          ? hexOf(new TextEncoder().encode(v))
          : v instanceof Uint8Array
            ? hexOf(v)
            : whole(v, "hexadecimal").toString(16);
      return verb === "X" ? hex.toUpperCase() : hex;
    }
  }
}

function whole(v: Value, what: string): bigint {
  if (typeof v === "bigint") return v;
  if (v instanceof Uint) return v.unsigned;
  throw new Misfit(`a ${what} clause cannot take ${typeNameOf(v)}`);
}

function real(v: Value, what: string): number {
  if (typeof v === "number") return v;
  if (typeof v === "bigint") return Number(v);
  if (v instanceof Uint) return Number(v.unsigned);
  throw new Misfit(`a ${what} clause cannot take ${typeNameOf(v)}`);
}

function special(x: number): string | null {
  return Number.isFinite(x) ? null : String(x);
}

/** Rounds exact ties to even. JavaScript rounds them up. */
function fixed(x: number, digits: number): string {
  if (Math.abs(x) >= 1e21) return BigInt(x).toString() + (digits > 0 ? `.${"0".repeat(digits)}` : "");
  const rounded = x.toFixed(digits);
  const exact = x.toFixed(Math.min(100, digits + 40));
  const rest = exact.slice(exact.indexOf(".") + 1 + digits);
  if (!/^50*$/.test(rest)) return rounded;
  const cut = digits === 0 ? exact.slice(0, exact.indexOf(".")) : exact.slice(0, exact.indexOf(".") + 1 + digits);
  return isEven(cut) ? cut : rounded === cut ? away(x, digits) : rounded;
}

function away(x: number, digits: number): string {
  return (x + Math.sign(x) * 10 ** -(digits + 1)).toFixed(digits);
}

function isEven(digits: string): boolean {
  return "02468".includes(digits.at(-1) ?? "");
}

function scientific(x: number, digits: number): string {
  let text = x.toExponential(digits);
  const exact = x.toExponential(Math.min(100, digits + 40));
  const mantissa = exact.slice(0, exact.indexOf("e"));
  const rest = mantissa.slice(mantissa.indexOf(".") + 1 + digits);
  const cut = mantissa.slice(0, mantissa.indexOf(".") + (digits === 0 ? 0 : 1 + digits));
  if (/^50*$/.test(rest) && isEven(cut)) text = cut + exact.slice(exact.indexOf("e"));
  return text.replace(/e([+-])([0-9])$/, "e$10$2");
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, b) => b.toString(16).padStart(2, "0"));

function hexOf(bytes: Uint8Array): string {
  let text = "";
  for (const b of bytes) text += HEX[b];
  return text;
}

function show(v: Value, call: CallContext, depth: number): string {
  call.charge(1);
  if (depth > 100 || call.left < 0) throw new Misfit(spent_mark);
  if (v === null) return "null";
  if (typeof v === "string") return v;
  if (typeof v === "number" || typeof v === "bigint" || typeof v === "boolean") return String(v);
  if (v instanceof Uint) return String(v.unsigned);
  if (v instanceof TypeValue) return v.typeName;
  if (v instanceof Timestamp || v instanceof Duration) return v.toString();
  if (v instanceof Uint8Array) return new TextDecoder().decode(v);
  if (Array.isArray(v)) return `[${v.map((x) => show(x as Value, call, depth + 1)).join(", ")}]`;
  if (!isMap(v)) throw new Misfit(`a string clause cannot take ${typeNameOf(v)}`);
  const entries = mapKeys(v).map(
    (k) => [show(k, call, depth + 1), show(mapGet(v, k) as Value, call, depth + 1)] as const,
  );
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([k, x]) => `${k}: ${x}`).join(", ")}}`;
}
