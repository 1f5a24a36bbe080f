import { diagnostic } from "../diagnostics.ts";
import { closest } from "../suggest.ts";
import { dottedName, type Expr, type Ident, type Select } from "../syntax/ast.ts";
import type { Checker } from "./checker.ts";
import type { Guards } from "./guards.ts";
import { candidates, findLocal, type Local } from "./scope.ts";
import { DYN, type Field, optionalOf, STRING, type Type } from "./type.ts";

/** Guards inside `has`, `.?` and functions that accept unknown arguments. */
export const ALL_GUARDED: Guards = new Set(["*"]);

export function checkName(c: Checker, e: Ident, scope: Local | null): Type {
  const found = lookUp(c, e, e.name, scope);
  if (found !== null) return found;
  const names = [...c.declarations.variables.keys()];
  for (let s = scope; s !== null; s = s.outer) names.unshift(s.name);
  const near = closest(e.name, names);
  const called = c.declarations.functions.has(e.name) ? `\`${e.name}\` is a function: write \`${e.name}(…)\`` : null;
  const few = names.filter((n) => !n.includes(".")).slice(0, 12);
  return c.report({
    code: "undeclared_name",
    message: `undeclared name \`${e.name}\``,
    start: e.start,
    end: e.end,
    help:
      called ??
      (near === null ? (few.length > 0 ? `names are: ${few.join(", ")}` : null) : `did you mean \`${near}\`?`),
  });
}

/** Returns the type of a name or chain that is declared as a whole, or null. */
function lookUp(c: Checker, e: Ident | Select, name: string, scope: Local | null): Type | null {
  const root = name.includes(".") ? name.slice(0, name.indexOf(".")) : name;
  const absolute = isAbsolute(e);
  if (!absolute) {
    const local = findLocal(scope, root);
    if (local !== null) {
      if (e.kind !== "ident") return null;
      c.references.set(e.id, { kind: "local", local });
      return local.type;
    }
  }
  const { container, variables, types } = c.declarations;
  const options = absolute || container === "" ? [name] : candidates(container, name);
  for (const option of options) {
    const variable = variables.get(option);
    if (variable !== undefined) {
      c.references.set(e.id, { kind: "variable", name: option, type: variable });
      return variable;
    }
    const type = types.get(option);
    if (type !== undefined) {
      c.references.set(e.id, { kind: "type", name: option, type });
      return { kind: "type", of: type };
    }
  }
  return null;
}

/** `used` is false inside `has`, where fields may be absent. */
export function checkSelect(c: Checker, e: Select, scope: Local | null, guards: Guards, used: boolean): Type {
  const { roots, container } = c.declarations;
  const path = dottedName(e);
  if (path !== null && !e.optional && (container !== "" || roots.has(path.slice(0, path.indexOf("."))))) {
    const qualified = lookUp(c, e, path, scope);
    if (qualified !== null) return qualified;
  }
  const operand = c.unify.resolve(c.visit(e.operand, scope, used ? guards : ALL_GUARDED), false);
  if (operand.kind === "opaque" && operand.name === "optional_type") {
    return optionalOf(field(c, e, c.unify.resolve(operand.parameters[0] ?? DYN, false), path, ALL_GUARDED));
  }
  if (e.optional) return optionalOf(field(c, e, operand, path, ALL_GUARDED));
  return field(c, e, operand, path, used ? guards : ALL_GUARDED);
}

function field(c: Checker, e: Select, t: Type, path: string | null, guards: Guards): Type {
  switch (t.kind) {
    case "dyn":
    case "error":
      return t;
    case "parameter":
      c.unify.assignable(DYN, t);
      return DYN;
    case "map":
      c.unify.assignable(t.key, STRING);
      return t.value;
    case "object": {
      const field = t.fields.get(e.field);
      if (field !== undefined) {
        if (guards !== ALL_GUARDED) guarded(c, e, field, path, guards);
        return field.type;
      }
      const near = closest(e.field, t.fields.keys());
      if (t.rest !== null) {
        if (near !== null) undeclaredField(c, e, t.name, near, "warning");
        return t.rest;
      }
      return undeclaredField(c, e, t.name, near, "error", [...t.fields.keys()]);
    }
    default:
      return c.report({
        code: "wrong_operand",
        message: `${c.show(t)} has no fields`,
        start: e.fieldStart,
        end: e.end,
        help: isMethodOf(c, e.field, t) ? `\`${e.field}\` is a function: write \`.${e.field}(…)\`` : null,
      });
  }
}

function isMethodOf(c: Checker, name: string, t: Type): boolean {
  const f = c.declarations.functions.get(name);
  if (f === undefined || f.style === "global") return false;
  return f.overloads.some((o) => c.unify.assignable(t, c.unify.instantiate([o.parameters[0] ?? DYN])[0] as Type));
}

function undeclaredField(
  c: Checker,
  e: Select,
  owner: string,
  near: string | null,
  severity: "error" | "warning",
  known: readonly string[] = [],
): Type {
  const few = known.slice(0, 12).join(", ");
  const help =
    near === null
      ? few === ""
        ? null
        : `fields are: ${few}${known.length > 12 ? ", …" : ""}`
      : `did you mean \`${near}\`?`;
  const message =
    severity === "error"
      ? `${owner} has no field \`${e.field}\``
      : `\`${e.field}\` is not a declared field of ${owner}`;
  return c.report({ severity, code: "undeclared_field", message, start: e.fieldStart, end: e.end, help });
}

function guarded(c: Checker, e: Select, field: Field, path: string | null, guards: Guards): void {
  if (path === null || (!field.optional && !field.nullable) || guards.has(path) || c.unguarded.has(path)) return;
  const what = field.optional ? (field.nullable ? "absent or null" : "absent") : "null";
  // Keeps only the finding for the longest path.
  for (const [known, d] of c.unguarded) {
    if (path.startsWith(`${known}.`) && d.start === e.start) c.diagnostics.splice(c.diagnostics.indexOf(d), 1);
  }
  const found = diagnostic(c.ast.source, {
    severity: "hint",
    code: "unguarded",
    message: `\`${path}\` may be ${what}; the result is then unknown`,
    start: e.start,
    end: e.end,
    help: `guard it: \`has(${path}) && …\``,
  });
  c.unguarded.set(path, found);
  c.diagnostics.push(found);
}

function isAbsolute(e: Expr): boolean {
  let at = e;
  while (at.kind === "select") at = at.operand;
  return at.kind === "ident" && at.absolute;
}
