import type { Escalation } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readShownEscalation } from "../../store/escalations/escalations.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** Returns one escalation. Faults: not_found. */
export async function getEscalation(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  escalation_id: string,
): Promise<Escalation> {
  const { org_id } = caller;
  const record = await runtime.db.tenant(org_id, (query) => readShownEscalation(query, org_id, escalation_id));
  if (record === undefined) throw new Fault("not_found");
  return record;
}
