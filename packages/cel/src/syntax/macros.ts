import { dottedName, type Expr, type FoldMacro } from "./ast.ts";
import type { Parser } from "./parser.ts";
import type { Token } from "./tokens.ts";

export const MEMBER_MACROS: ReadonlyMap<string, string> = new Map([
  ["all", "list.all(x, test)"],
  ["exists", "list.exists(x, test)"],
  ["exists_one", "list.exists_one(x, test)"],
  ["existsOne", "list.existsOne(x, test)"],
  ["map", "list.map(x, value)` or `list.map(x, test, value)"],
  ["filter", "list.filter(x, test)"],
  ["transformList", "list.transformList(i, x, value)"],
  ["transformMap", "map.transformMap(k, v, value)"],
  ["transformMapEntry", "map.transformMapEntry(k, v, {key: value})"],
  ["optMap", "optional.optMap(x, value)"],
  ["optFlatMap", "optional.optFlatMap(x, optional)"],
]);

export function globalMacro(p: Parser, name: Token, args: readonly Expr[], end: number): Expr | null {
  if (name.text !== "has") return null;
  const [target] = args;
  if (args.length !== 1 || target === undefined || target.kind !== "select") {
    return p.stop({
      code: "macro",
      message: "`has` takes one field selection",
      start: target?.start ?? name.start,
      end: target?.end ?? end,
      help: 'write `has(a.b)`; for a computed key write `"b" in a`',
    });
  }
  return p.node({ kind: "has", target, start: name.start, end });
}

export function memberMacro(
  p: Parser,
  target: Expr,
  name: Token,
  args: readonly Expr[],
  place: { readonly start: number; readonly end: number },
): Expr | null {
  const { end } = place;
  if (name.text === "bind" && dottedName(target) === "cel") {
    const [variable, value, body] = args;
    if (args.length !== 3 || !variable || !value || !body) return misuse(p, name, end, "cel.bind(name, value, body)");
    return p.node({ kind: "bind", name: simple(p, variable), value, body, ...place });
  }
  const usage = MEMBER_MACROS.get(name.text);
  if (usage === undefined) return null;
  const [a, b, c, d] = args;
  const wrong = () => misuse(p, name, end, usage);
  const fold = (
    macro: FoldMacro,
    names: readonly [string] | readonly [string, string],
    filter: Expr | null,
    body: Expr | null,
  ) => p.node({ kind: "fold", macro, range: target, names, filter, body, ...place });
  switch (name.text) {
    case "all":
    case "exists":
    case "exists_one":
    case "existsOne": {
      const macro = name.text === "existsOne" ? "exists_one" : name.text;
      if (args.length === 2 && a && b) return fold(macro, [simple(p, a)], null, b);
      if (args.length === 3 && a && b && c) return fold(macro, pair(p, a, b), null, c);
      return wrong();
    }
    case "filter":
      return args.length === 2 && a && b ? fold("filter", [simple(p, a)], b, null) : wrong();
    case "map":
      if (args.length === 2 && a && b) return fold("map", [simple(p, a)], null, b);
      return args.length === 3 && a && b && c ? fold("map", [simple(p, a)], b, c) : wrong();
    case "transformList":
    case "transformMap":
    case "transformMapEntry":
      if (args.length === 3 && a && b && c) return fold(name.text, pair(p, a, b), null, c);
      return args.length === 4 && a && b && c && d ? fold(name.text, pair(p, a, b), c, d) : wrong();
    default:
      if (args.length !== 2 || !a || !b) return wrong();
      return p.node({
        kind: "optional_map",
        target,
        name: simple(p, a),
        body: b,
        flat: name.text === "optFlatMap",
        ...place,
      });
  }
}

function pair(p: Parser, a: Expr, b: Expr): readonly [string, string] {
  const first = simple(p, a);
  const second = simple(p, b);
  if (first === second) {
    p.stop({
      code: "macro",
      message: `the two variables are both called \`${first}\``,
      start: b.start,
      end: b.end,
      help: "give them different names",
    });
  }
  return [first, second];
}

function simple(p: Parser, variable: Expr): string {
  if (variable.kind === "ident" && !variable.absolute) return variable.name;
  return p.stop({
    code: "macro",
    message: "a variable name is needed here",
    start: variable.start,
    end: variable.end,
    help: "the first argument names the variable that the next one uses, as in `list.exists(x, x > 1)`",
  });
}

function misuse(p: Parser, name: Token, end: number, usage: string): never {
  return p.stop({
    code: "macro",
    message: `wrong number of arguments for the macro \`${name.text}\``,
    start: name.start,
    end,
    help: `it is written \`${usage}\``,
  });
}
