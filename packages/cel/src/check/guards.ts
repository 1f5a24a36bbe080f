import { dottedName, type Expr } from "../syntax/ast.ts";

/** Paths that an expression proves present and not null, with all their beginnings. */
export type Guards = ReadonlySet<string>;

export const NO_GUARDS: Guards = new Set();

/** Returns what `has`, `!= null`, `!`, `&&` and `||` prove if `expr` equals `truth`. */
export function guardsOf(expr: Expr, truth: boolean): Guards {
  switch (expr.kind) {
    case "has":
      return truth ? prefixes(dottedName(expr.target)) : NO_GUARDS;
    case "unary":
      return expr.op === "!" ? guardsOf(expr.operand, !truth) : NO_GUARDS;
    case "binary": {
      const proves = truth ? "!=" : "==";
      if (expr.op !== proves) return NO_GUARDS;
      if (isNull(expr.right)) return prefixes(dottedName(expr.left));
      return isNull(expr.left) ? prefixes(dottedName(expr.right)) : NO_GUARDS;
    }
    case "logic": {
      if ((expr.op === "&&") !== truth) return NO_GUARDS;
      return union(expr.args.map((a) => guardsOf(a, truth)));
    }
    default:
      return NO_GUARDS;
  }
}

export function union(sets: readonly Guards[]): Guards {
  const filled = sets.filter((s) => s.size > 0);
  if (filled.length <= 1) return filled[0] ?? NO_GUARDS;
  return new Set(filled.flatMap((s) => [...s]));
}

export function isNull(expr: Expr): boolean {
  return expr.kind === "literal" && expr.type === "null";
}

function prefixes(path: string | null): Guards {
  if (path === null) return NO_GUARDS;
  const found = new Set([path]);
  for (let i = path.lastIndexOf("."); i > 0; i = path.lastIndexOf(".", i - 1)) found.add(path.slice(0, i));
  return found;
}
