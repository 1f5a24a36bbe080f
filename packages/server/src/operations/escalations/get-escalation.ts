import type { Escalation } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readReview } from "../../store/escalations/escalations.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

/** Returns one escalation. Faults: not_found. */
export async function getEscalation(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  escalation_id: string,
): Promise<Escalation> {
  const review = await runtime.db.tenant(caller.org_id, (query) => readReview(query, caller.org_id, escalation_id));
  if (review === undefined) throw new Fault("not_found");
  return review.record;
}
