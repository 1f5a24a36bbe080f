import { type Escalation, roleMeets } from "@countersign/contract";
import { Fault, openTiers } from "@countersign/core";
import { readNobodyWaits, readReview } from "../../store/escalations/escalations.ts";
import { noteShown, wasShown } from "../../store/escalations/reviewer-times.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { identityOf } from "../people/identity.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { readPresent } from "../shared/present.ts";
import { readAction } from "./review-steps.ts";
import { blocksNow } from "./rules-of-now.ts";

/**
 * Returns one escalation. While it is pending, reviewers also see what would refuse an approval now, and the first time that a person
 * reads it is noted for the pace of the person's ruling (decision 0039). Faults: not_found.
 */
export async function getEscalation(
  runtime: Pick<Runtime, "db" | "orgStates">,
  caller: Pick<Caller, "org_id" | "role" | "lineage_id">,
  escalation_id: string,
): Promise<Escalation> {
  const { org_id, role, lineage_id } = caller;
  const { stored, at, nobody_waits } = await runtime.db.tenant(org_id, async (query) => ({
    stored: await readReview(query, org_id, escalation_id),
    nobody_waits: await readNobodyWaits(query, org_id, escalation_id),
    at: await databaseNow(query),
  }));
  if (stored === undefined) throw new Fault("not_found");
  const review = openTiers(stored, at);
  const record = { ...review.record, ...(nobody_waits === null ? {} : { nobody_waits }) };
  if (record.status !== "pending" || !roleMeets(role, ["reviewer"])) return record;

  const cached = await runtime.orgStates.get(org_id);
  const is_outdated = await runtime.orgStates.isOutdated(org_id, cached);
  const state = is_outdated ? await runtime.orgStates.get(org_id) : cached;
  return runtime.db.tenant(org_id, async (query) => {
    const { person } = await identityOf(query, org_id, lineage_id);
    if (!(await wasShown(query, org_id, escalation_id, person)))
      await noteShown(query, org_id, escalation_id, person, await databaseNow(query));
    const action = await readAction(query, org_id, review);
    const present = await readPresent(query, org_id, action, state, await databaseNow(query));
    const blocked_now = blocksNow(action, review.ruling, present);
    return blocked_now.length === 0 ? record : { ...record, blocked_now: [...blocked_now] };
  });
}
