/** The agents above an agent. Source: docs/decisions/0043. */
import { foldName } from "@countersign/contract";
import type { Ancestor } from "../facts/merge.ts";

/** Registered parents: the folded id of an agent, and its parent's id as it is registered. */
export type Parents = ReadonlyMap<string, string>;

/** An agent above another one, and who says so. */
export type Superior = Pick<Ancestor, "id" | "source">;

const none: readonly never[] = Object.freeze([]);

/** Returns the registered agents above an agent, the nearest first. */
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
 * Returns the agents above the one that acts, the nearest first. A registered parent wins over the submitted one. A submitted parent
 * is followed by the agents that are registered above it.
 */
export function superiorsOf(
  parents: Parents,
  { id, parent }: { readonly id: string; readonly parent?: string | undefined },
): readonly Superior[] {
  const registered = registeredAbove(parents, id);
  if (registered.length > 0) return registered.map((each) => ({ id: each, source: "register" }));
  if (parent === undefined || foldName(parent) === foldName(id)) return none;
  const above = registeredAbove(parents, parent).filter((each) => foldName(each) !== foldName(id));
  return [parent, ...above].map((each) => ({ id: each, source: "submitted" }));
}
