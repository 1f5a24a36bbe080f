/** Refuses frozen actions. Call under the head's lock, which every change of a freeze takes. */
import { roleMeets } from "@countersign/contract";
import { Fault, type FreezableActor, faultAt, freezeText, type StandingFreeze } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { isFrozenKey, isOlderThan, readFreezes } from "../../store/freezes/freezes.ts";
import type { Caller } from "../shared/caller.ts";

export async function isFrozen(query: Query, org_id: string, actor: FreezableActor): Promise<boolean> {
  return (await readFreezes(query, org_id)).of(actor).length > 0;
}

export async function refuseFrozen(query: Query, org_id: string, actor: FreezableActor): Promise<void> {
  const freezes = (await readFreezes(query, org_id)).of(actor);
  if (freezes.length > 0) throw frozenFault(freezes);
}

/**
 * Refuses to carry out an approved action of a frozen actor, unless an admin approved it under freezes of mode
 * `escalate`. Returns these freezes. Faults: frozen.
 */
export async function demandNotFrozen(
  query: Query,
  org_id: string,
  action: FreezableActor & { readonly intent_id: string },
): Promise<readonly StandingFreeze[]> {
  const freezes = (await readFreezes(query, org_id)).of(action);
  if (freezes.length === 0) return freezes;
  const is_blocked = freezes.some(({ mode }) => mode === "block");
  if (is_blocked || (await isOlderThan(query, org_id, action.intent_id, freezes))) throw frozenFault(freezes);
  return freezes;
}

/**
 * Refuses the approval of a frozen actor's held action. Admins may approve if each freeze has the mode `escalate` and
 * the review was opened under it. Faults: frozen, forbidden.
 */
export async function demandApprovable(
  query: Query,
  caller: Caller,
  action: FreezableActor & { readonly intent_id: string },
): Promise<void> {
  const { org_id, key_id } = caller;
  const freezes = await demandNotFrozen(query, org_id, action);
  if (freezes.length === 0) return;
  if (!roleMeets(caller.role, ["admin"]))
    throw faultAt("forbidden", "", "not_allowed", `Only an admin may approve this. ${texts(freezes)}`);
  if (key_id !== null && (await isFrozenKey(query, org_id, key_id)))
    throw faultAt("forbidden", "", "not_allowed", "A frozen key approves nothing of what is frozen.");
}

function frozenFault(freezes: readonly StandingFreeze[]): Fault {
  const details = freezes.map((freeze) => ({ path: "", code: "not_allowed", message: freezeText(freeze) }));
  return new Fault("frozen", { details });
}

function texts(freezes: readonly StandingFreeze[]): string {
  return freezes.map(freezeText).join(" ");
}
