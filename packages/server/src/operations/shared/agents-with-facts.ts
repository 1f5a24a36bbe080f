import { type AgentNames, agentNames } from "@countersign/core";
import { LRUCache } from "lru-cache";

interface Kept {
  subjects: ReadonlySet<string>;
  readonly ids: ReadonlySet<string>;
  readonly names: AgentNames;
}

const bytes_max = 32 * 1_048_576;
const id_bytes = 512;

const prefix = "agent ";

/**
 * Caches which agents have stored facts. A push makes a new state, but mostly for the same agents, so the next state
 * reuses the names.
 */
export class AgentsWithFacts {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: bytes_max,
    sizeCalculation: ({ ids }) => id_bytes * (ids.size + 1),
  });

  /**
   * Returns the agents among these subjects (`agent <id>` and others). Null: the subjects are unknown, or none is an
   * agent.
   */
  of(org_id: string, subjects: ReadonlySet<string> | null): AgentNames | null {
    if (subjects === null || subjects.size === 0) return null;
    const kept = this.#kept.get(org_id);
    if (kept?.subjects === subjects) return kept.ids.size === 0 ? null : kept.names;
    const ids = new Set<string>();
    for (const subject of subjects) if (subject.startsWith(prefix)) ids.add(subject.slice(prefix.length));
    const is_same = kept !== undefined && kept.ids.size === ids.size && [...ids].every((id) => kept.ids.has(id));
    const names = is_same ? kept.names : agentNames([...ids]);
    this.#kept.set(org_id, { subjects, ids, names });
    return ids.size === 0 ? null : names;
  }
}
