import type { Rollout } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readMembrane } from "../../store/membranes/membranes.ts";
import { readRollout } from "../../store/rollouts/rollouts.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { shownRollout } from "./shown-rollout.ts";

/** Returns the rollout of a membrane. Null: it has none. Faults: not_found (the membrane). */
export function getRollout(
  { db }: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  membrane_id: string,
): Promise<Rollout | null> {
  return db.tenant(org_id, async (query) => {
    const membrane = await readMembrane(query, org_id, membrane_id);
    if (membrane === undefined) throw new Fault("not_found");
    const row = await readRollout(query, org_id, membrane_id);
    return row === undefined ? null : shownRollout(query, org_id, membrane, row);
  });
}
