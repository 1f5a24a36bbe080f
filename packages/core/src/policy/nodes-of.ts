import { type Expr, parse } from "@countersign/cel";

/** Every node of an expression, in no promised order. The source must parse. */
export function* nodesOf(source: string): Generator<Expr> {
  const queue: unknown[] = [parse(source).root];
  while (queue.length > 0) {
    const node = queue.pop();
    if (Array.isArray(node)) queue.push(...node);
    else if (typeof node === "object" && node !== null && !(node instanceof Uint8Array)) {
      if ("kind" in node) yield node as Expr;
      queue.push(...Object.values(node));
    }
  }
}
