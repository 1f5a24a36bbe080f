/**
 * Checks requests against the bindings of the key. Each function returns null if the request is allowed. See
 * docs/decisions/0041.
 */
import { allowsAgent, allowsMembrane, allowsSource, type Fault, faultAt, type Parents } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readParents } from "../../store/agents/agents.ts";
import type { Caller } from "./caller.ts";

type Bound = Pick<Caller, "bindings">;

export function sourceRefusal({ bindings }: Bound, client_ip: string): Fault | null {
  if (allowsSource(bindings, client_ip)) return null;
  return refusal("", `This key may not be used from the address ${client_ip}. An admin can change its source_cidrs.`);
}

export function modeRefusal({ bindings }: Bound, asked_mode: "shadow" | undefined): Fault | null {
  if (asked_mode === undefined || bindings?.forbid_shadow !== true) return null;
  return refusal("/mode", "This key may not ask for shadow mode. Leave out ?mode=shadow.");
}

export function agentRefusal({ bindings }: Bound, agent_id: string, path: string, parents: Parents): Fault | null {
  if (allowsAgent(bindings, agent_id, parents)) return null;
  const message = `This key may not be used for the agent ${JSON.stringify(agent_id)}: it is bound to other agents.`;
  return refusal(path, message);
}

/** `membrane_id` null: the organization has no such membrane. */
export function membraneRefusal({ bindings }: Bound, membrane_id: string | null, path: string): Fault | null {
  if (membrane_id === null || allowsMembrane(bindings, membrane_id)) return null;
  const message = `This key may not be used for the membrane ${membrane_id}: it is bound to other membranes. Name one of them.`;
  return refusal(path, message);
}

export async function demandBoundAction(
  query: Query,
  caller: Bound & Pick<Caller, "org_id">,
  { agent_id, membrane_id }: { readonly agent_id: string; readonly membrane_id: string },
): Promise<void> {
  if (caller.bindings === null) return;
  const parents = await readParents(query, caller.org_id);
  const fault = agentRefusal(caller, agent_id, "", parents) ?? membraneRefusal(caller, membrane_id, "");
  if (fault !== null) throw fault;
}

function refusal(path: string, message: string): Fault {
  return faultAt("forbidden", path, "bound", message);
}
