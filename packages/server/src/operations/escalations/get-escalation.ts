import { type Escalation, roleMeets } from "@countersign/contract";
import { Fault } from "@countersign/core";
import { readNobodyWaits, readReview } from "../../store/escalations/escalations.ts";
import { readStoppedReviews } from "../../store/freezes/freezes.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { readPresent } from "../shared/present.ts";
import { readAction } from "./review-steps.ts";
import { blocksNow } from "./rules-of-now.ts";

/** Returns one escalation. While it is pending, reviewers also see what would refuse an approval now. Faults: not_found. */
export async function getEscalation(
  runtime: Pick<Runtime, "db" | "orgStates">,
  caller: Pick<Caller, "org_id" | "role">,
  escalation_id: string,
): Promise<Escalation> {
  const { org_id, role } = caller;
  const { review, nobody_waits, stopped } = await runtime.db.tenant(org_id, async (query) => ({
    review: await readReview(query, org_id, escalation_id),
    nobody_waits: await readNobodyWaits(query, org_id, escalation_id),
    stopped: await readStoppedReviews(query, org_id, [escalation_id]),
  }));
  if (review === undefined) throw new Fault("not_found");
  const why = nobody_waits === null ? {} : { nobody_waits };
  const record = withFreeze({ ...review.record, ...why }, stopped);
  if (record.status !== "pending" || !roleMeets(role, ["reviewer"])) return record;

  const cached = await runtime.orgStates.get(org_id);
  const is_outdated = await runtime.orgStates.isOutdated(org_id, cached);
  const state = is_outdated ? await runtime.orgStates.get(org_id) : cached;
  return runtime.db.tenant(org_id, async (query) => {
    const action = await readAction(query, org_id, review);
    const present = await readPresent(query, org_id, action, state, await databaseNow(query));
    const blocked_now = blocksNow(action, review.ruling, present);
    return blocked_now.length === 0 ? record : { ...record, blocked_now: [...blocked_now] };
  });
}

/** Returns the record, which says so if nobody can approve it because of a freeze. `stopped`: the reviews that this is true of. */
export function withFreeze(record: Escalation, stopped: ReadonlySet<string>): Escalation {
  return stopped.has(record.escalation_id) ? { nobody_waits: "frozen", ...record } : record;
}
