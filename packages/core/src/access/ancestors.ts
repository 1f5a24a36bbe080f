/** Finds the agents above an agent (docs/decisions/0043-agents.md). */
import { foldName } from "@countersign/contract";
import type { Ancestor, MergedFacts } from "../facts/merge.ts";

/** Folded agent id to its parent's registered id. */
export type Parents = ReadonlyMap<string, string>;

export type Superior = Pick<Ancestor, "id" | "source">;

const none: readonly never[] = Object.freeze([]);

/** Nearest first. */
export function registeredAbove(parents: Parents, agent_id: string): readonly string[] {
  if (parents.size === 0) return none;
  const above: string[] = [];
  const seen = new Set([foldName(agent_id)]);
  for (let id = parents.get(foldName(agent_id)); id !== undefined; id = parents.get(foldName(id))) {
    if (seen.has(foldName(id))) break;
    seen.add(foldName(id));
    above.push(id);
  }
  return above;
}

/**
 * Returns the superiors of the acting agent, nearest first. `chain` is the delegation chain of a verified token, which
 * ends with the acting agent. Chain and register win over the submitted parent.
 */
export function superiorsOf(
  parents: Parents,
  { id, parent }: { readonly id: string; readonly parent?: string | undefined },
  chain?: unknown,
): readonly Superior[] {
  const delegating = Array.isArray(chain) ? chain.slice(0, -1).reverse() : none;
  const found = new Map<string, Superior>();
  const add = (above: readonly string[], source: Superior["source"]) => {
    for (const each of above) {
      const folded = foldName(each);
      if (folded !== foldName(id) && !found.has(folded)) found.set(folded, { id: each, source });
    }
  };
  add(delegating, "token");
  for (const each of [id, ...delegating]) add(registeredAbove(parents, each), "register");
  if (found.size === 0 && parent !== undefined) add([parent, ...registeredAbove(parents, parent)], "submitted");
  return [...found.values()];
}

/** Replaces the authenticated agent `from` by `to`. */
export function authenticatedAs(facts: MergedFacts, from: string, to: string): MergedFacts {
  const { identity } = facts;
  if (identity?.values["authenticated_agent_id"] !== from) return facts;
  return { ...facts, identity: { ...identity, values: { ...identity.values, authenticated_agent_id: to } } };
}
