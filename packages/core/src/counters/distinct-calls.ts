import type { Expr } from "@countersign/cel";
import type { PolicyDocument } from "../policy/document.ts";
import { expressionsOf } from "../policy/expressions.ts";
import { namesOf, nodesOf } from "../policy/nodes-of.ts";

/** One `count.<name>.distinct("<source>")`. */
export interface DistinctCall {
  /** `count.<name>`. */
  readonly track: string;
  /** The expression whose distinct values are counted. */
  readonly source: string;
}

/** Returns the calls of `distinct` in all expressions of a document, each once. */
export function distinctCalls(document: PolicyDocument): DistinctCall[] {
  const sources = [
    ...expressionsOf(document).map(({ source }) => source),
    ...(document.spec.variables ?? []).map(({ expr }) => expr),
  ];
  const found = new Map<string, DistinctCall>();
  for (const source of sources) {
    if (!source.includes("distinct")) continue;
    for (const node of nodesOf(source)) {
      const call = callOf(node);
      if (call !== null) found.set(`${call.track} ${call.source}`, call);
    }
  }
  return [...found.values()];
}

function callOf(node: Expr): DistinctCall | null {
  if (node.kind !== "call" || node.name !== "distinct" || node.target === null) return null;
  const names = namesOf(node.target);
  const [argument] = node.args;
  if (names?.[0] !== "count" || names.length !== 2) return null;
  if (argument?.kind !== "literal" || typeof argument.value !== "string") return null;
  return { track: names.join("."), source: argument.value };
}
