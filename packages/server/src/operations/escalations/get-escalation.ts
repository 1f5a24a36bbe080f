import { type Escalation, roleMeets } from "@countersign/contract";
import { Fault, type Present, type Review } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readNobodyWaits, readReview } from "../../store/escalations/escalations.ts";
import { readMarks } from "../../store/escalations/review-marks.ts";
import { noteShown, wasShown } from "../../store/escalations/reviewer-times.ts";
import { readStoppedReviews } from "../../store/freezes/freezes.ts";
import type { StoredIntent } from "../../store/intents/intents.ts";
import { isSolo } from "../../store/people/solo.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { identityOf } from "../people/identity.ts";
import { partiesOf } from "../people/voting/parties.ts";
import { reviewOutOfReach } from "../people/voting/reach.ts";
import { standingReview } from "../people/voting/standing.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { readPresent } from "../shared/present.ts";
import { blocksNow } from "./current-rules.ts";
import { readAction } from "./review-steps.ts";

/**
 * Returns an escalation. For reviewers of a pending one, adds what would refuse an approval, and whether enough people
 * can approve. Records a person's first read for the pace (decision 0039). Faults: not_found.
 */
export async function getEscalation(
  runtime: Pick<Runtime, "db" | "orgStates">,
  caller: Pick<Caller, "org_id" | "role" | "lineage_id">,
  escalation_id: string,
): Promise<Escalation> {
  const { org_id, role, lineage_id } = caller;
  const { review, nobody_waits, marks, stopped } = await runtime.db.tenant(org_id, async (query) => {
    const stored = await readReview(query, org_id, escalation_id);
    if (stored === undefined) throw new Fault("not_found");
    const { review } = await standingReview(query, org_id, stored, await databaseNow(query));
    return {
      review,
      nobody_waits: await readNobodyWaits(query, org_id, escalation_id),
      marks: await readMarks(query, org_id, review.record, (await identityOf(query, org_id, lineage_id)).person),
      stopped: await readStoppedReviews(query, org_id, [escalation_id]),
    };
  });
  const waits = nobody_waits === null ? {} : { nobody_waits };
  const record = withFreeze({ ...review.record, ...marks, ...waits }, stopped);
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
    const nobody_can_decide = await nobodyCanDecide(query, org_id, { review, action, present });
    return {
      ...record,
      ...(nobody_can_decide === null ? {} : { nobody_can_decide }),
      ...(blocked_now.length === 0 ? {} : { blocked_now: [...blocked_now] }),
    };
  });
}

/** Returns why too few people can approve; null: there are enough. In solo mode the one person may rule. */
async function nobodyCanDecide(
  query: Query,
  org_id: string,
  { review, action, present }: { readonly review: Review; readonly action: StoredIntent; readonly present: Present },
): Promise<string | null> {
  const solo = await isSolo(query, org_id);
  const submitter = solo ? null : (await identityOf(query, org_id, action.lineage_id)).person;
  const parties = solo ? new Set<string>() : partiesOf(action, present, review.ruling);
  return reviewOutOfReach(query, org_id, review, { submitter, parties });
}

export function withFreeze(record: Escalation, stopped: ReadonlySet<string>): Escalation {
  return stopped.has(record.escalation_id) ? { nobody_waits: "frozen", ...record } : record;
}
