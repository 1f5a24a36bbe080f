import type { Outcome, Reviewer } from "@countersign/contract";
import { Fault, faultAt, isReached, type Review, type ReviewDemand, unitedReviewers } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import { identityOf } from "../people/identity.ts";
import { judgeOwnReview } from "../people/own-review.ts";
import { isReviewer, unmetDemands } from "../people/reviewers.ts";
import { absentFor, namedAbsent, standingReview } from "../people/voting/standing.ts";
import type { Caller } from "../shared/caller.ts";
import type { LoadedReview } from "./review-steps.ts";
import { unmetDemandsFault } from "./ruling-faults.ts";

export interface AdmittedReviewer {
  readonly person: string;
  readonly self_reviewed: boolean;
  readonly absent: readonly string[];
}

/**
 * Returns the person behind a caller who may vote. Call it before working out a ruling, which reveals policies, and
 * again under the lock. Faults: self_review, forbidden, escalation_closed.
 */
export async function admitReviewer(
  query: Query,
  caller: Caller,
  { review, intent }: LoadedReview,
  outcome: Outcome,
): Promise<AdmittedReviewer> {
  const reviewer = await identityOf(query, caller.org_id, caller.lineage_id);
  const submitter = await identityOf(query, caller.org_id, intent.lineage_id);
  const own = await judgeOwnReview(query, caller.org_id, reviewer, submitter);
  if (own.kind === "refused") throw own.fault;
  const absent = await absentFor(query, caller.org_id, reviewer.person, submitter.person);
  const now = await databaseNow(query);
  const { review: standing } = await standingReview(query, caller.org_id, review, now);
  const { status, expires_at } = standing.record;
  await demandNamed(query, votersOf(standing, outcome), caller, { person: reviewer.person, absent });
  if (status !== "pending" || isReached(expires_at, now)) throw new Fault("escalation_closed");
  return { person: reviewer.person, self_reviewed: own.kind === "solo", absent };
}

/**
 * Returns who may vote for an outcome; empty: any reviewer. Reviewers of each panel may block, even if another panel
 * approves for them (`met_with`).
 */
export function votersOf({ record, demands }: Review, outcome: Outcome): readonly Reviewer[] {
  if (outcome !== "block") return record.reviewers;
  if (demands.some(({ reviewers }) => reviewers.length === 0)) return [];
  return demands.reduce((all, { reviewers }) => unitedReviewers(all, reviewers), record.reviewers);
}

/** Refuses a caller who is not one of these reviewers or a delegate of one. Faults: forbidden. */
export async function demandNamed(
  query: Query,
  reviewers: readonly Reviewer[],
  caller: Caller,
  { person, absent }: Pick<AdmittedReviewer, "person" | "absent">,
): Promise<void> {
  if (await isReviewer(query, reviewers, caller, person)) return;
  if (namedAbsent(reviewers, absent) !== undefined) return;
  throw faultAt("forbidden", "", "not_allowed", "Other reviewers decide this escalation.");
}

/**
 * Refuses a changed action that further policies hold, unless the vote can meet their demands. Faults:
 * modified_action_blocked naming the policies.
 */
export async function demandMet(
  query: Query,
  further: readonly ReviewDemand[],
  { demands }: Review,
  caller: Caller,
  person: string,
): Promise<void> {
  const required = Math.max(...demands.map(({ quorum }) => quorum));
  const unmet = await unmetDemands(query, further, required, caller, person);
  if (unmet.length > 0) throw unmetDemandsFault(unmet, required);
}
