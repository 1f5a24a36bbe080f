import { RE2JS } from "re2js";
import type { FunctionDeclaration, Overload } from "../library.ts";
import { pattern, pattern_max, pattern_work_max, patternWork } from "../stdlib/regex.ts";
import { closest } from "../suggest.ts";
import { type Call, dottedName, type Expr } from "../syntax/ast.ts";
import { MEMBER_MACROS } from "../syntax/macros.ts";
import { type Checker, place } from "./checker.ts";
import type { Guards } from "./guards.ts";
import { ALL_GUARDED } from "./names.ts";
import { isIntLiteral } from "./operators.ts";
import { candidates, findLocal, type Local } from "./scope.ts";
import { DOUBLE, DYN, type Type, typeName } from "./type.ts";

export function checkCall(c: Checker, e: Call, scope: Local | null, guards: Guards): Type {
  const qualified = e.target === null ? null : namespaced(c, e, scope);
  const receiver = qualified === null ? e.target : null;
  const declaration =
    qualified ?? (receiver === null ? globalFunction(c, e.name) : c.declarations.functions.get(e.name));
  const args = receiver === null ? e.args : [receiver, ...e.args];
  const types = args.map((a) => c.visit(a, scope, declaration?.acceptsUnknown ? ALL_GUARDED : guards));
  if (declaration === undefined) return undeclared(c, e, types[0]);
  const member = receiver !== null;
  const name = declaration.name;
  const ways = declaration.overloads.filter(
    (o) =>
      (o.style ?? declaration.style) === "both" || (o.style ?? declaration.style) === (member ? "member" : "global"),
  );
  if (ways.length === 0) {
    const shown = member ? `${name}(…)` : `value.${name}(…)`;
    return c.report({
      code: "undeclared_function",
      message: `\`${name}\` is not called like this`,
      start: e.nameStart,
      end: e.nameStart + e.name.length,
      help: `write \`${shown}\``,
    });
  }
  c.functions.set(e.id, declaration);
  checkLiterals(c, name, args);
  return applyOverloads(c, e, declaration, ways, args, types, member);
}

function applyOverloads(
  c: Checker,
  e: Call,
  f: FunctionDeclaration,
  ways: readonly Overload[],
  args: readonly Expr[],
  types: readonly Type[],
  member: boolean,
): Type {
  let found: Type | null = null;
  let dyn = false;
  for (const way of ways) {
    const parameters = f.variadic ? stretch(way.parameters, args.length) : way.parameters;
    if (parameters.length !== args.length) continue;
    const [result, ...wanted] = c.unify.instantiate([way.result, ...parameters]);
    const given = types.map((t, i) => (takesNumber(f, ways, wanted[i] as Type, args[i] as Expr, t) ? DOUBLE : t));
    if (!c.unify.assignableAll(given, wanted)) continue;
    given.forEach((t, i) => {
      if (t !== types[i] && isIntLiteral(args[i] as Expr)) c.promote(args[i] as Expr);
    });
    const own = c.unify.resolve(result as Type, false);
    if (found !== null && typeName(found) !== typeName(own)) dyn = true;
    found = own;
    // If an argument's type is unknown, several overloads may apply.
    if (!types.some((t) => ["dyn", "parameter", "error"].includes(c.unify.resolve(t, false).kind))) break;
  }
  if (found !== null) return dyn ? DYN : found;
  return wrongArguments(c, e, f, ways, args, types, member);
}

/** Reads an int literal as a double where only a double fits. Host functions accept any int there. */
function takesNumber(f: FunctionDeclaration, ways: readonly Overload[], wanted: Type, arg: Expr, given: Type): boolean {
  return (
    wanted.kind === "double" && ways.length === 1 && (isIntLiteral(arg) || (f.checked === true && given.kind === "int"))
  );
}

function stretch(parameters: readonly Type[], count: number): readonly Type[] {
  const last = parameters.at(-1);
  if (last === undefined || count < parameters.length) return parameters;
  return [...parameters, ...Array.from({ length: count - parameters.length }, () => last)];
}

function namespaced(c: Checker, e: Call, scope: Local | null): FunctionDeclaration | null {
  const path = e.target === null ? null : dottedName(e.target);
  if (path === null || findLocal(scope, path.split(".")[0] ?? "") !== null) return null;
  const absolute = e.target?.kind === "ident" && e.target.absolute;
  for (const name of candidates(absolute ? "" : c.declarations.container, `${path}.${e.name}`)) {
    const found = c.declarations.functions.get(name);
    if (found !== undefined) return found;
  }
  return null;
}

function globalFunction(c: Checker, written: string): FunctionDeclaration | undefined {
  const absolute = written.startsWith(".");
  for (const name of candidates(absolute ? "" : c.declarations.container, absolute ? written.slice(1) : written)) {
    const found = c.declarations.functions.get(name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function undeclared(c: Checker, e: Call, receiver: Type | undefined): Type {
  const member = e.target !== null;
  const usage = MEMBER_MACROS.get(e.name);
  const names = [...c.declarations.functions.values()]
    .filter((f) => (member ? f.style !== "global" : f.style !== "member"))
    .map((f) => f.name);
  const near = closest(e.name, member ? [...names, ...MEMBER_MACROS.keys()] : [...names, "has"]);
  const foreign = FOREIGN.get(e.name);
  const help =
    usage !== undefined
      ? `it is written \`${usage}\``
      : foreign !== undefined
        ? foreign
        : near === null
          ? null
          : `did you mean \`${near}\`?`;
  const on =
    member && receiver !== undefined && receiver.kind !== "error" && receiver.kind !== "dyn"
      ? ` on ${c.show(receiver)}`
      : "";
  return c.report({
    code: "undeclared_function",
    message: `undeclared function \`${e.name}\`${on}`,
    start: e.nameStart,
    end: e.nameStart + e.name.length,
    help,
  });
}

/** Names from other languages, with the CEL form. */
const FOREIGN: ReadonlyMap<string, string> = new Map([
  ["includes", "write `text.contains(part)` or `x in list`"],
  ["length", "write `size(x)`"],
  ["len", "write `size(x)`"],
  ["toLowerCase", "write `text.lowerAscii()`"],
  ["toUpperCase", "write `text.upperAscii()`"],
  ["lower", "write `text.lowerAscii()`"],
  ["upper", "write `text.upperAscii()`"],
  ["some", "write `list.exists(x, test)`"],
  ["any", "write `list.exists(x, test)`"],
  ["every", "write `list.all(x, test)`"],
  ["exists", "write `has(a.b)` for a field, or `list.exists(x, test)`"],
  ["defined", "write `has(a.b)`"],
  ["isNull", "write `x == null`"],
  ["regex", "write `text.matches(pattern)`"],
  ["test", "write `text.matches(pattern)`"],
  ["match", "write `text.matches(pattern)`"],
  ["float", "write `double(x)`"],
  ["number", "write `double(x)`"],
  ["str", "write `string(x)`"],
  ["toString", "write `string(x)`"],
  ["date", 'write `timestamp("2026-01-31T00:00:00Z")`'],
  ["abs", "write `math.abs(x)`"],
  ["min", "write `math.least(a, b)`"],
  ["max", "write `math.greatest(a, b)`"],
  ["round", "write `math.round(x)`"],
]);

function wrongArguments(
  c: Checker,
  e: Call,
  f: FunctionDeclaration,
  ways: readonly Overload[],
  args: readonly Expr[],
  types: readonly Type[],
  member: boolean,
): Type {
  if (types.some((t) => c.unify.resolve(t, false).kind === "error")) return commonResult(ways);
  const help = ways
    .slice(0, 4)
    .map((o) => `\`${signature(f, o, member)}\``)
    .join(" or ");
  const sized = f.variadic ? ways : ways.filter((o) => o.parameters.length === args.length);
  if (sized.length === 0) {
    const counts = [...new Set(ways.map((o) => o.parameters.length - (member ? 1 : 0)))].sort().join(" or ");
    const given = args.length - (member ? 1 : 0);
    return c.report({
      code: "wrong_argument",
      message: `\`${f.name}\` takes ${counts} argument${counts === "1" ? "" : "s"}, ${given} ${given === 1 ? "is" : "are"} given`,
      start: e.nameStart,
      end: e.end,
      help: `write ${help}`,
    });
  }
  const at = args.findIndex(
    (_, i) =>
      !sized.some((o) =>
        c.unify.assignable(
          types[i] as Type,
          c.unify.instantiate([stretch(o.parameters, args.length)[i] as Type])[0] as Type,
        ),
      ),
  );
  const culprit = args[Math.max(at, 0)] as Expr;
  const shown = types
    .slice(member ? 1 : 0)
    .map((t) => c.show(t))
    .join(", ");
  const message =
    at < 0
      ? `\`${f.name}\` does not take (${shown})`
      : `\`${f.name}\` does not take ${c.show(types[at] as Type)}${member && at === 0 ? " as its receiver" : " here"}`;
  return c.report({ code: "wrong_argument", message, ...place(culprit), help: `write ${help}` });
}

function commonResult(ways: readonly Overload[]): Type {
  const [first] = ways;
  return first !== undefined && ways.every((o) => typeName(o.result) === typeName(first.result)) ? first.result : DYN;
}

function signature(f: FunctionDeclaration, o: Overload, member: boolean): string {
  const [receiver, ...rest] = o.parameters.map(typeName);
  return member
    ? `${receiver}.${f.name}(${rest.join(", ")})`
    : `${f.name}(${o.parameters.map(typeName).join(", ")}${f.variadic ? ", …" : ""})`;
}

function checkLiterals(c: Checker, name: string, args: readonly Expr[]): void {
  if (name !== "matches") return;
  const written = args[1];
  if (written?.kind !== "literal" || typeof written.value !== "string") return;
  try {
    if (written.value.length > pattern_max) throw new Error(`it is longer than ${pattern_max} characters`);
    const work = patternWork(written.value);
    if (c.patterns.work + work > pattern_work_max)
      throw new Error("with the patterns before it, its counted repetitions or ranges are too large");
    c.patterns.work += work;
    // Compiles again only to get the error message.
    if (pattern(written.value) === null) RE2JS.compile(written.value);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "";
    c.report({
      code: "pattern",
      message: `this pattern does not compile: ${why}`,
      ...place(written),
      help: "patterns are RE2: no look-around, no back-references",
    });
  }
}
