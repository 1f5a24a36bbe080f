import { suggestName } from "../policy/check/suggest-name.ts";
import type { PolicyDocument } from "../policy/document.ts";
import { expressionsOf } from "../policy/expressions.ts";
import { namesGiven, namesOf, nodesOf } from "../policy/nodes-of.ts";
import type { CounterFinding } from "./check-counters.ts";

export interface ReadFinding extends CounterFinding {
  readonly severity: "error" | "warning";
}

/**
 * Returns the counters and earlier actions that a document reads and does not define. Another policy may define a counter. Policies do
 * not share earlier actions. Expressions must parse.
 */
export function undefinedReads(document: PolicyDocument): ReadFinding[] {
  const { counters = [], after = [], variables = [] } = document.spec;
  const known = { count: counters.map(({ name }) => name), after: after.map(({ name }) => name) };
  const sources = [
    ...variables.map(({ expr }, at) => ({ path: `/spec/variables/${at}/expr`, source: expr, offset: 0 })),
    ...expressionsOf(document),
  ];
  const found = new Map<string, ReadFinding>();
  for (const { path, source, offset } of sources) {
    const nodes = [...nodesOf(source)];
    const own = new Set(nodes.flatMap(namesGiven));
    for (const node of nodes) {
      const [root, name] = namesOf(node) ?? [];
      if ((root !== "count" && root !== "after") || name === undefined || own.has(root)) continue;
      if (known[root].includes(name)) continue;
      const place = { path, offset: offset + node.start, code: "undeclared_field" };
      found.set(`${path} ${root}.${name}`, { ...place, ...wording[root](name, suggestName(name, known[root])) });
    }
  }
  return [...found.values()];
}

const wording = {
  count: (name: string, suggestion: string | null) => ({
    severity: "warning" as const,
    message: `This policy defines no counter ${name}. If no other policy in force does, count.${name} is unknown.`,
    help: suggestion ?? "Define the counter in spec.counters, or ignore this if another policy defines it.",
  }),
  after: (name: string, suggestion: string | null) => ({
    severity: "error" as const,
    message: `This policy defines no earlier action ${name}.`,
    help: suggestion ?? "Define the earlier action in spec.after. Policies do not share earlier actions.",
  }),
};
