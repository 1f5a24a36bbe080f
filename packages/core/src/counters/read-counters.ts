import { type Expr, type Program, parse } from "@countersign/cel";
import type { PolicyDocument } from "../policy/document.ts";
import { namesOf, nodesOf } from "../policy/nodes-of.ts";

/** A counter that the conditions of a policy read, and the limits that they compare it with. */
export interface ReadCounter {
  readonly name: string;
  readonly sum: Program;
  readonly n: Program;
  readonly since: Program;
  readonly limits: readonly CounterLimit[];
}

interface CounterLimit {
  readonly field: "sum" | "n";
  readonly limit: Program;
}

interface Comparison {
  readonly name: string;
  readonly field: "sum" | "n";
  /** The source of the other side. */
  readonly limit: string;
}

const comparing: ReadonlySet<string> = new Set([">", ">=", "<", "<="]);

/** Compiles what the reasons of a policy say about its counters. */
export function readCounters({ spec }: PolicyDocument, program: (source: string) => Program): readonly ReadCounter[] {
  const variables = new Map((spec.variables ?? []).map(({ name, expr }) => [name, expr]));
  const modified = (spec.modify ?? []).flatMap(({ value }) => value ?? []);
  const conditions = [spec.when, spec.require, spec.modify_when].flatMap((source) => source ?? []);
  const names = new Set<string>();
  const comparisons: Comparison[] = [];
  for (const source of [...conditions, ...modified, ...variables.values()])
    for (const node of nodesOf(source)) {
      const [root, name] = namesOf(node) ?? [];
      if (root === "count" && name !== undefined) names.add(name);
      comparisons.push(...comparisonsIn(node, source, variables));
    }
  return [...names].map((name) => ({
    name,
    sum: program(`count.${name}.sum`),
    n: program(`count.${name}.n`),
    since: program(`count.${name}.since`),
    limits: comparisons.flatMap((each) =>
      each.name === name ? [{ field: each.field, limit: program(each.limit) }] : [],
    ),
  }));
}

function comparisonsIn(node: Expr, source: string, variables: ReadonlyMap<string, string>): Comparison[] {
  if (node.kind !== "binary" || !comparing.has(node.op)) return [];
  const { left, right } = node;
  return [[left, right] as const, [right, left] as const].flatMap(([side, other]) => {
    const names = countedNames(side, variables);
    if (names === null || readsCounter(source.slice(other.start, other.end))) return [];
    return [{ ...names, limit: source.slice(other.start, other.end) }];
  });
}

/** Returns the counter and field of `count.<name>.sum` or `.n`, also through a variable. */
function countedNames(side: Expr, variables: ReadonlyMap<string, string>): Pick<Comparison, "name" | "field"> | null {
  const [root, name = "", field] = namesOf(side) ?? [];
  const variable = root === "vars" && field === undefined ? variables.get(name) : undefined;
  if (variable !== undefined) return countedNames(parse(variable).root, new Map());
  return root === "count" && (field === "sum" || field === "n") ? { name, field } : null;
}

function readsCounter(source: string): boolean {
  for (const node of nodesOf(source)) if (namesOf(node)?.[0] === "count") return true;
  return false;
}
