import { type Expr, parse } from "@countersign/cel";
import { type FactCategoryName, factCategoryNames } from "@countersign/contract";
import { namesOf } from "./nodes-of.ts";

export interface FactPath {
  readonly category: FactCategoryName;
  readonly field: string;
}

/** Facts read by each function that takes all facts. */
const readsOfFunctions: ReadonlyMap<string, readonly string[]> = new Map([
  ["framework", ["regulatory.applicable_frameworks"]],
  [
    "aiVoice",
    [
      "environmental.ai_voice_detected",
      "environmental.communication_method",
      "regulatory.ai_voice_detected",
      "regulatory.tcpa",
    ],
  ],
  ["aiDisclosed", ["environmental.ai_voice_disclosure", "regulatory.ai_voice_disclosure", "regulatory.tcpa"]],
  ["recipientStates", ["environmental.recipient_state", "regulatory.recipient_state", "regulatory.tcpa"]],
]);

/** Facts are written as `category.field`. */
export interface Mentions {
  readonly facts: ReadonlySet<string>;
  readonly variables: ReadonlySet<string>;
}

export const every_field = "*";

/**
 * Returns all mentioned facts and variables, even if never evaluated. A whole category is `category.*`. All facts as a
 * whole count as every category, except in functions known to read only some. The source must parse.
 */
export function mentionsOf(source: string): Mentions {
  const facts = new Set<string>();
  const variables = new Set<string>();
  const queue: unknown[] = [parse(source).root];
  while (queue.length > 0) {
    const node = queue.pop();
    if (Array.isArray(node)) queue.push(...node);
    else if (typeof node === "object" && node !== null && !(node instanceof Uint8Array)) {
      queue.push(...mention(node as Expr, facts, variables));
    }
  }
  return { facts, variables };
}

/** Returns the nodes still to visit. */
function mention(expr: Expr, facts: Set<string>, variables: Set<string>): unknown[] {
  const [root, first, second] = namesOf(expr) ?? [];
  if (root === "vars" && first !== undefined) variables.add(first);
  if (root === "facts") {
    for (const category of first === undefined ? factCategoryNames : [first])
      facts.add(`${category}.${second ?? every_field}`);
    return [];
  }
  const reads = expr.kind === "call" ? readsOfFunctions.get(expr.name) : undefined;
  if (expr.kind !== "call" || reads === undefined) return Object.values(expr);
  for (const path of reads) facts.add(path);
  return expr.args.filter((arg) => !(arg.kind === "ident" && arg.name === "facts"));
}

/** Null for an unknown category. */
export function factPath(text: string): FactPath | null {
  const dot = text.indexOf(".");
  const category = factCategoryNames.find((name) => name === text.slice(0, dot));
  return category === undefined ? null : { category, field: text.slice(dot + 1) };
}
