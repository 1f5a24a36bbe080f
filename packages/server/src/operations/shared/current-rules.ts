import { Fault } from "@countersign/core";
import type { Runtime } from "../runtime.ts";
import type { DecidingMembrane, OrgState } from "./node-services.ts";

/** Returns the current rules of an organization, also if this node kept older ones. */
export async function currentState({ orgStates }: Pick<Runtime, "orgStates">, org_id: string): Promise<OrgState> {
  const kept = await orgStates.get(org_id);
  return (await orgStates.isOutdated(org_id, kept)) ? orgStates.get(org_id) : kept;
}

/** Returns a membrane by the current rules. Faults: not_found. */
export async function currentMembrane(
  runtime: Pick<Runtime, "orgStates">,
  org_id: string,
  membrane_id: string | undefined,
): Promise<DecidingMembrane> {
  const found = (await currentState(runtime, org_id)).membrane(membrane_id);
  if (found === undefined) throw new Fault("not_found");
  return found;
}
