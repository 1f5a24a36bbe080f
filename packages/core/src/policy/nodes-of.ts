import { type Expr, parse } from "@countersign/cel";

/** Yields every node, in unspecified order. The source must parse. */
export function* nodesOf(source: string): Generator<Expr> {
  const queue = [parse(source).root];
  for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
    yield node;
    queue.push(...partsOf(node));
  }
}

export function* partsOf(node: object): Generator<Expr> {
  for (const value of Object.values(node)) {
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) continue;
    if ("kind" in value) yield value as Expr;
    else yield* partsOf(value);
  }
}

export function namesGiven(node: Expr): readonly string[] {
  if (node.kind === "fold") return node.names;
  return node.kind === "bind" || node.kind === "optional_map" ? [node.name] : [];
}

/** Returns the names in `a.b["c"].d`, or null if the chain does not begin with a name. */
export function namesOf(expr: Expr): string[] | null {
  if (expr.kind === "ident") return [expr.name];
  if (expr.kind === "select") {
    const before = namesOf(expr.operand);
    return before === null ? null : [...before, expr.field];
  }
  if (expr.kind !== "index" || expr.index.kind !== "literal") return null;
  const before = namesOf(expr.operand);
  return before === null ? null : [...before, String(expr.index.value)];
}
