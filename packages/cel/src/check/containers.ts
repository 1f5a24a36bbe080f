import type { Expr, Fold, MapLiteral } from "../syntax/ast.ts";
import { type Checker, place } from "./checker.ts";
import { type Guards, guardsOf, union } from "./guards.ts";
import type { Local } from "./scope.ts";
import { BOOL, DYN, INT, listOf, mapOf, optionalOf, STRING, type Type } from "./type.ts";

export function checkIndex(c: Checker, e: Expr & { kind: "index" }, scope: Local | null, guards: Guards): Type {
  const operand = c.unify.resolve(c.visit(e.operand, scope, guards), false);
  const key = c.visit(e.index, scope, guards);
  const through = operand.kind === "opaque" && operand.name === "optional_type";
  const t = through ? c.unify.resolve(operand.parameters[0] ?? DYN, false) : operand;
  let found: Type;
  if (t.kind === "list") {
    // JSON numbers are doubles, so an index may be a double.
    const k = c.unify.resolve(key, false);
    if (e.index.kind === "literal" && typeof e.index.value === "number" && !Number.isInteger(e.index.value)) {
      c.report({ code: "wrong_operand", message: "an index must be a whole number", ...place(e.index) });
    }
    const fits = k.kind === "double" || k.kind === "uint" || c.unify.assignable(key, INT);
    found = fits ? t.element : wrongIndex(c, e.index, "int", key);
  } else if (t.kind === "map") {
    const k = c.unify.resolve(key, false);
    const fits =
      c.unify.assignable(key, t.key) || (k.kind === "double" && c.unify.resolve(t.key, false).kind !== "string");
    found = fits ? t.value : wrongIndex(c, e.index, c.show(t.key), key);
  } else if (t.kind === "object") {
    found = c.unify.assignable(key, STRING) ? fieldByKey(e, t) : wrongIndex(c, e.index, "string", key);
  } else if (t.kind === "dyn" || t.kind === "error") found = t;
  else if (t.kind === "parameter") {
    c.unify.assignable(DYN, t);
    found = DYN;
  } else
    found = c.report({
      code: "wrong_operand",
      message: `${c.show(t)} cannot be indexed`,
      ...place(e.operand),
      help: "lists and maps can",
    });
  return e.optional || through ? optionalOf(found) : found;
}

function fieldByKey(e: Expr & { kind: "index" }, t: Type & { kind: "object" }): Type {
  if (e.index.kind !== "literal" || typeof e.index.value !== "string") return DYN;
  return t.fields.get(e.index.value)?.type ?? t.rest ?? DYN;
}

function wrongIndex(c: Checker, at: Expr, wanted: string, found: Type): Type {
  return c.report({
    code: "wrong_operand",
    message: `the index must be ${wanted}, this is ${c.show(found)}`,
    ...place(at),
  });
}

export function checkMap(c: Checker, e: MapLiteral, scope: Local | null, guards: Guards): Type {
  const keys: Type[] = [];
  const values: Type[] = [];
  for (const { key, value, optional } of e.entries) {
    const k = c.visit(key, scope, guards);
    if (!["string", "int", "uint", "bool", "dyn", "error", "parameter"].includes(c.unify.resolve(k, false).kind)) {
      c.report({
        code: "wrong_operand",
        message: `${c.show(k)} cannot be the key of a map`,
        ...place(key),
        help: "keys are strings, ints, uints and bools",
      });
    }
    keys.push(k);
    const v = c.visit(value, scope, guards);
    values.push(optional ? c.unwrapOptional(v, value) : v);
  }
  return mapOf(c.common(keys), c.common(values));
}

export function checkFold(c: Checker, e: Fold, scope: Local | null, guards: Guards): Type {
  const range = c.unify.resolve(c.visit(e.range, scope, guards), false);
  const two = e.names.length === 2;
  let first: Type = DYN;
  let second: Type = DYN;
  if (range.kind === "list") [first, second] = two ? [INT, range.element] : [range.element, DYN];
  else if (range.kind === "map") [first, second] = [range.key, range.value];
  else if (range.kind === "object") [first, second] = [STRING, DYN];
  else if (range.kind === "parameter") c.unify.assignable(DYN, range);
  else if (range.kind !== "dyn" && range.kind !== "error") {
    c.report({
      code: "wrong_operand",
      message: `\`${e.macro}\` needs a list or a map, this is ${c.show(range)}`,
      ...place(e.range),
    });
  }
  let inner = c.declare(e, scope, e.names[0], first);
  if (two) inner = c.declare(e, inner, e.names[1] as string, second);
  const inside = e.filter === null ? guards : union([guards, guardsOf(e.filter, true)]);
  if (e.filter !== null) c.wantBool(e.filter, c.visit(e.filter, inner, guards), e.macro);
  const body = e.body === null ? null : c.visit(e.body, inner, inside);
  switch (e.macro) {
    case "all":
    case "exists":
    case "exists_one":
      if (e.body !== null && body !== null) c.wantBool(e.body, body, e.macro);
      return BOOL;
    case "filter":
      return listOf(first);
    case "map":
    case "transformList":
      return listOf(body ?? DYN);
    case "transformMap":
      return mapOf(range.kind === "list" ? INT : first, body ?? DYN);
    case "transformMapEntry":
      return body !== null && c.unify.resolve(body, false).kind === "map" ? body : mapOf(DYN, DYN);
  }
}
