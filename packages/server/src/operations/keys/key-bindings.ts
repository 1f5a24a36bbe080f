import { foldName, type KeyBindings, type KeyBindingsInput, type Role } from "@countersign/contract";
import { Fault, type FaultDetail, faultAt, readCidr } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readExistingMembranes } from "../../store/membranes/membranes.ts";

export interface KeyToBind {
  readonly org_id: string;
  readonly environment: string;
  readonly scope: string;
  readonly role: Role;
}

const host_needs = "A key of role host vouches for facts of the agents that it is bound to. Name these agents.";

/**
 * Returns the bindings to store: networks normalized, entries unique. Null: unbound. See docs/decisions/0041. Faults:
 * invalid_binding naming each problem.
 */
export async function checkedBindings(
  query: Query,
  { org_id, environment, scope, role }: KeyToBind,
  input: KeyBindingsInput | null | undefined,
): Promise<KeyBindings | null> {
  const names_agents = scope === "agent" || (input?.agent_ids ?? null) !== null;
  if (role === "host" && !names_agents)
    throw faultAt("invalid_binding", "/bindings/agent_ids", "not_allowed", host_needs);
  if (input === undefined || input === null) return null;
  const { membrane_ids = null, agent_ids = null, source_cidrs = null, forbid_shadow = false } = input;
  const details: FaultDetail[] = [];
  const refuse = (path: string, message: string) =>
    details.push({ path: `/bindings${path}`, code: "not_allowed", message });
  if (membrane_ids === null && agent_ids === null && source_cidrs === null && !forbid_shadow)
    refuse("", "This binds the key to nothing. Name membranes, agents or networks, or send null.");
  if (environment === "shadow" && forbid_shadow)
    refuse("/forbid_shadow", "A key of the environment shadow submits in shadow only. Leave this out.");
  if (scope === "agent" && agent_ids !== null)
    refuse("/agent_ids", "A key of scope agent is bound to its agent_id already. Leave this out.");
  const existing = new Set(membrane_ids === null ? [] : await readExistingMembranes(query, org_id, membrane_ids));
  for (const [index, id] of (membrane_ids ?? []).entries())
    if (!existing.has(id)) refuse(`/membrane_ids/${index}`, "There is no such membrane.");
  const cidrs = (source_cidrs ?? []).map((text, index) => {
    const read = readCidr(text);
    if ("cidr" in read) return read.cidr;
    refuse(`/source_cidrs/${index}`, read.problem);
    return text;
  });
  if (details.length > 0) throw new Fault("invalid_binding", { details });
  return {
    membrane_ids: membrane_ids === null ? null : [...new Set(membrane_ids)],
    agent_ids: agent_ids === null ? null : [...new Map(agent_ids.map((id) => [foldName(id), id])).values()],
    source_cidrs: source_cidrs === null ? null : [...new Set(cidrs)],
    forbid_shadow,
  };
}
