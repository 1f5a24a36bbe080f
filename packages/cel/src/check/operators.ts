import { type Overload, overload } from "../library.ts";
import type { Binary, BinaryOp, Expr } from "../syntax/ast.ts";
import { type Checker, place } from "./checker.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  isNumeric,
  listOf,
  parameter,
  STRING,
  TIMESTAMP,
  type Type,
  UINT,
} from "./type.ts";

const A = parameter("A");
const NUMBERS = [INT, UINT, DOUBLE];
const ORDERED = [BOOL, STRING, BYTES, TIMESTAMP, DURATION];
const COMPARE: readonly Overload[] = [
  ...ORDERED.map((t) => overload(BOOL, t, t)),
  ...NUMBERS.flatMap((x) => NUMBERS.map((y) => overload(BOOL, x, y))),
];
const ARITHMETIC: Readonly<Record<"+" | "-" | "*" | "/" | "%", readonly Overload[]>> = {
  "+": [
    ...[...NUMBERS, STRING, BYTES, DURATION].map((t) => overload(t, t, t)),
    overload(listOf(A), listOf(A), listOf(A)),
    overload(TIMESTAMP, TIMESTAMP, DURATION),
    overload(TIMESTAMP, DURATION, TIMESTAMP),
  ],
  "-": [
    ...[...NUMBERS, DURATION].map((t) => overload(t, t, t)),
    overload(DURATION, TIMESTAMP, TIMESTAMP),
    overload(TIMESTAMP, TIMESTAMP, DURATION),
  ],
  "*": NUMBERS.map((t) => overload(t, t, t)),
  "/": NUMBERS.map((t) => overload(t, t, t)),
  "%": [INT, UINT].map((t) => overload(t, t, t)),
};

export function checkBinary(c: Checker, e: Binary, left: Type, right: Type): Type {
  const x = c.unify.resolve(left, false);
  const y = c.unify.resolve(right, false);
  if (x.kind === "error" || y.kind === "error") return isTest(e.op) ? BOOL : DYN;
  switch (e.op) {
    case "==":
    case "!=":
      if (x.kind === "null" || y.kind === "null" || c.unify.assignable(left, right) || c.unify.assignable(right, left))
        return BOOL;
      if (c.unify.assignable(relax(x), relax(y))) return BOOL;
      return wrong(c, e, x, y, equalHelp(e, x, y));
    case "in":
      return membership(c, e, x, y);
    case "<":
    case "<=":
    case ">":
    case ">=":
      return resolve(c, COMPARE, left, right) ?? wrong(c, e, x, y, compareHelp(x, y));
    default: {
      // JSON numbers are doubles, so `params.amount * 2` must accept both.
      if (e.op !== "%" && ((x.kind === "dyn" && isIntLiteral(e.right)) || (y.kind === "dyn" && isIntLiteral(e.left))))
        return DYN;
      if (e.op !== "%" && x.kind === "double" && isIntLiteral(e.right)) return c.promote(e.right);
      if (e.op !== "%" && y.kind === "double" && isIntLiteral(e.left)) return c.promote(e.left);
      return resolve(c, ARITHMETIC[e.op], left, right) ?? wrong(c, e, x, y, arithmeticHelp(e.op, x, y));
    }
  }
}

export function isIntLiteral(e: Expr): boolean {
  return e.kind === "literal" && e.type === "int";
}

function isTest(op: BinaryOp): boolean {
  return op === "==" || op === "!=" || op === "in" || op.startsWith("<") || op.startsWith(">");
}

function membership(c: Checker, e: Binary, x: Type, y: Type): Type {
  if (y.kind === "dyn") return BOOL;
  const element =
    y.kind === "list"
      ? y.element
      : y.kind === "map"
        ? y.key
        : y.kind === "object"
          ? STRING
          : y.kind === "parameter"
            ? DYN
            : null;
  if (element === null) {
    const help = x.kind === "string" && y.kind === "string" ? "for text inside text write `text.contains(part)`" : null;
    return c.report({
      code: "wrong_operand",
      message: `\`in\` needs a list or a map on its right, this is ${c.show(y)}`,
      ...place(e.right),
      help,
    });
  }
  const inner = c.unify.resolve(element, false);
  if (x.kind === "null" || c.unify.assignable(x, element) || c.unify.assignable(relax(x), relax(inner))) return BOOL;
  return c.report({ code: "wrong_operand", message: `${c.show(x)} is never in ${c.show(y)}`, ...place(e) });
}

/** Merges all number types, because their values compare with each other. */
function relax(t: Type): Type {
  if (isNumeric(t)) return DOUBLE;
  if (t.kind === "list") return listOf(relax(t.element));
  return t.kind === "map" ? { kind: "map", key: relax(t.key), value: relax(t.value) } : t;
}

function resolve(c: Checker, overloads: readonly Overload[], left: Type, right: Type): Type | null {
  let found: Type | null = null;
  for (const o of overloads) {
    const [a, b, result] =
      o.parameters[0]?.kind === "list" ? c.unify.instantiate([...o.parameters, o.result]) : [...o.parameters, o.result];
    if (!c.unify.assignableAll([left, right], [a as Type, b as Type])) continue;
    const own = c.unify.resolve(result as Type, false);
    if (found !== null && found.kind !== own.kind) return DYN;
    found = own;
  }
  return found;
}

function wrong(c: Checker, e: Binary, x: Type, y: Type, help: string | null): Type {
  return c.report({
    code: "wrong_operand",
    message: `\`${e.op}\` does not take ${c.show(x)} and ${c.show(y)}`,
    start: e.opStart,
    end: e.opStart + e.op.length,
    help,
  });
}

function equalHelp(e: Binary, x: Type, y: Type): string {
  const quoted = [e.left, e.right].find((side) => side.kind === "literal" && side.type === "string");
  const other = x.kind === "string" ? y : x;
  if (quoted !== undefined && (isNumeric(other) || other.kind === "bool"))
    return `compare with a ${other.kind === "bool" ? "bool" : "number"} without quotes`;
  if (isOptional(x) || isOptional(y)) return "take the value out of the optional: `….orValue(…)`";
  if (other.kind === "timestamp") return 'convert the text: `timestamp("…")`';
  if (other.kind === "duration") return 'convert the text: `duration("…")`';
  return "they are never equal; convert one of them";
}

function isOptional(t: Type): boolean {
  return t.kind === "opaque" && t.name === "optional_type";
}

function compareHelp(x: Type, y: Type): string | null {
  if (x.kind === "string" && isNumeric(y)) return "convert the text: `double(…)`";
  if (y.kind === "string" && isNumeric(x)) return "compare with a number without quotes";
  if (x.kind === "timestamp" && y.kind === "string") return 'convert the text: `timestamp("…")`';
  if (isOptional(x) || isOptional(y)) return "take the value out of the optional: `….orValue(…)`";
  if (x.kind === "duration" && isNumeric(y)) return 'write a duration: `duration("24h")`';
  if (x.kind === "duration" && y.kind === "string") return 'convert the text: `duration("…")`';
  return null;
}

function arithmeticHelp(op: BinaryOp, x: Type, y: Type): string | null {
  if (op === "%" && (x.kind === "double" || y.kind === "double")) return "`%` takes whole numbers: `int(…) % …`";
  if (isNumeric(x) && isNumeric(y)) return "convert one: `double(…)`, `int(…)`";
  if (op === "+" && (x.kind === "string" || y.kind === "string")) return "convert the other: `string(…)`";
  if ((x.kind === "timestamp" || x.kind === "duration") && (y.kind === "string" || isNumeric(y)))
    return 'write a duration: `duration("24h")`';
  return null;
}
