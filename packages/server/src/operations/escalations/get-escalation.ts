import type { Escalation } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readNobodyWaits, readReview } from "../../store/escalations/escalations.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** Returns one escalation. Faults: not_found. */
export async function getEscalation(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  escalation_id: string,
): Promise<Escalation> {
  return runtime.db.tenant(org_id, async (query) => {
    const review = await readReview(query, org_id, escalation_id);
    if (review === undefined) throw new Fault("not_found");
    const nobody_waits = await readNobodyWaits(query, org_id, escalation_id);
    return { ...review.record, ...(nobody_waits === null ? {} : { nobody_waits }) };
  });
}
