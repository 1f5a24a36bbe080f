/** What the rules of now say about an action that waits for reviewers. */
import {
  askedRuling,
  type BlockedBy,
  type CountedDemand,
  decideAgain,
  newDemands,
  type Present,
  type Review,
  type ReviewDemand,
  type ReviewStep,
  type Ruling,
  stepReview,
  withDemands,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { StoredIntent } from "../../store/intents/intents.ts";
import { markUntold } from "../../store/people/mails.ts";
import { demandsMetBy, electorateIn } from "../people/reviewers.ts";
import type { Caller } from "../shared/caller.ts";
import { blockedNowFault } from "../shared/present.ts";

type ClosingStep = Extract<ReviewStep, { kind: "vote" }>;

/** A vote that may let an action through. */
interface ClosingVote {
  readonly action: StoredIntent;
  readonly present: Present;
  readonly review: Review;
  readonly vote: Omit<ClosingStep, "meets">;
  /** Of policies that hold the changed action. The reviewer meets them. */
  readonly demands: readonly ReviewDemand[];
}

/**
 * Counts a vote. If it would let the action through, the action is decided again by what holds now: a rule that holds the action
 * now and did not hold it before adds its demand to the review, and tells its reviewers. Earlier approvals do not count for that
 * demand, because those who gave them did not know the rule. Returns the review to vote on, the places of the demands that
 * the vote meets, and how long an approval lives that it completes. Faults: blocked_now.
 */
export async function countForRulesOfNow(
  query: Query,
  caller: Caller,
  { action, present, review, vote, demands: met }: ClosingVote,
): Promise<{ readonly review: Review } & Pick<ClosingStep, "meets" | "approval_valid_seconds">> {
  const meets = await demandsMetBy(query, review.demands, caller, vote.person);
  const stepped = stepReview(review, { ...vote, meets });
  const closes = stepped.kind === "moved" && stepped.review.record.status === "decided";
  if (vote.ruling === null || !closes) return { review, meets };

  const again = decideAgain(action, { ...vote.ruling, human_reviewed: true }, present);
  if (again.blocked.length > 0) throw blockedNowFault(again.blocked);
  const further = newDemands(action, again.demands, review.demands).map((demand): CountedDemand => {
    const is_met = met.some(({ policy }) => policy === demand.policy);
    return { ...demand, quorum: is_met ? 1 : demand.quorum, approved_by: [] };
  });
  const { approval_valid_seconds } = again;
  if (further.length === 0) return { review, meets, approval_valid_seconds };
  const { org_id } = caller;
  const demands = [...review.demands, ...further];
  const held = withDemands(review, further, await electorateIn(query, org_id, demands));
  await markUntold(query, org_id, review.record.escalation_id);
  return { review: held, meets: await demandsMetBy(query, demands, caller, vote.person), approval_valid_seconds };
}

/** Returns what blocks an approval of a pending review now; empty: nothing. `approved`: what others approved so far. */
export function blocksNow(action: StoredIntent, approved: Ruling | null, present: Present): readonly BlockedBy[] {
  const ruling = approved ?? askedRuling(action, action.decision);
  return decideAgain(action, { ...ruling, human_reviewed: true }, present).blocked;
}
