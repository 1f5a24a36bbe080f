import {
  askedRuling,
  type BlockedBy,
  type CountedAction,
  type CountedDemand,
  countedDemand,
  decideAgain,
  newDemands,
  type PacedVote,
  type Present,
  type ProposedRuling,
  parseTimestampUs,
  type Review,
  type ReviewDemand,
  type ReviewStep,
  type Ruling,
  stepReview,
  type WantedVote,
  withDemands,
  workOutRuling,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { StoredIntent } from "../../store/intents/intents.ts";
import { markUntold } from "../../store/people/mails.ts";
import { CountsNow } from "../counters/counts-now.ts";
import { electorateIn } from "../people/reviewers.ts";
import { type PartyPlaces, withParties } from "../people/voting/parties.ts";
import { placesOf } from "../people/voting/standing.ts";
import type { Caller } from "../shared/caller.ts";
import type { OrgState } from "../shared/node-services.ts";
import { blockedNowFault, readPresent } from "../shared/present.ts";
import type { AdmittedReviewer } from "./admit-reviewer.ts";
import { rulingFault } from "./ruling-faults.ts";

type ClosingStep = Extract<ReviewStep, { kind: "vote" }>;

interface ClosingVote {
  readonly action: StoredIntent;
  readonly present: Present & { readonly counts: CountsNow };
  readonly review: Review;
  readonly vote: Omit<ClosingStep, "meets" | "in_place_of" | "party">;
  readonly paced: (demands: readonly CountedDemand[], meets: readonly number[]) => PacedVote;
  readonly reviewer: AdmittedReviewer;
  readonly demands: readonly ReviewDemand[];
}

interface Counted extends Pick<ClosingStep, "approval_valid_seconds"> {
  readonly review: Review;
  readonly places: PartyPlaces;
  /** How the action counts in counters, if the vote lets it through. */
  readonly counted?: readonly CountedAction[];
}

/** Works out the ruling of a vote by the rules and counters of the moment. Faults: those of `rulingFault`. */
export async function workOutNow(
  query: Query,
  org_id: string,
  { action, state, at, ...vote }: WantedVote & { readonly action: StoredIntent; state: OrgState; readonly at: string },
): Promise<{ readonly proposed: ProposedRuling; readonly present: Present & { readonly counts: CountsNow } }> {
  const { mode, intent_id } = action;
  const counts = new CountsNow({ org_id, mode, own: [intent_id], now_us: parseTimestampUs(at) ?? 0 });
  const present = { ...(await readPresent(query, org_id, action, state, at)), counts };
  const proposed = await counts.settle(query, () => workOutRuling({ action, ...vote }, present));
  if (proposed.kind === "refused") throw rulingFault(proposed);
  return { proposed, present };
}

/**
 * Counts a vote. If it would let the action through, decides the action again by the current rules. A rule that newly
 * holds the action, or asks for more or other people, adds its demand. Earlier approvals do not count for that demand,
 * because those reviewers did not know the rule. Returns the review, where the vote counts, and the lifetime of the
 * approval. Faults: blocked_now.
 */
export async function countForCurrentRules(
  query: Query,
  caller: Caller,
  { action, present, review, vote, paced, reviewer, demands: met }: ClosingVote,
): Promise<Counted> {
  const { org_id } = caller;
  const countIn = async (demands: Review["demands"]): Promise<PartyPlaces> =>
    withParties(
      query,
      caller,
      { action, present, ruling: vote.ruling, reviewer },
      await placesOf(query, demands, caller, reviewer),
    );
  const places = await countIn(review.demands);
  const stepped = stepReview(review, { ...vote, ...paced(review.demands, places.meets).marks, ...places });
  const closes = stepped.kind === "moved" && stepped.review.record.status === "decided";
  if (vote.ruling === null || !closes) return { review, places };

  const let_through = { ...vote.ruling, human_reviewed: true };
  const again = await present.counts.settle(query, () => decideAgain(action, let_through, present));
  if (again.blocked.length > 0) throw blockedNowFault(again.blocked);
  const further = newDemands(action, again.demands, review.demands).map((demand): CountedDemand => {
    const is_met = met.some(({ policy }) => policy === demand.policy);
    const added = countedDemand(demand, vote.at, review.record.expires_at);
    return is_met ? { ...added, quorum: 1, asked_quorum: demand.quorum } : added;
  });
  const { approval_valid_seconds, counted } = again;
  if (further.length === 0) return { review, places, approval_valid_seconds, counted };
  const demands = [...review.demands, ...further];
  const held = withDemands(review, further, await electorateIn(query, org_id, demands));
  await markUntold(query, org_id, review.record.escalation_id);
  // The vote may meet the further demands at once, and then it ends the review.
  return { review: held, places: await countIn(demands), approval_valid_seconds, counted };
}

/**
 * Returns what blocks an approval of a pending review now; empty: nothing. `approved`: the change that others approved.
 */
export function blocksNow(action: StoredIntent, approved: Ruling | null, present: Present): readonly BlockedBy[] {
  const ruling = approved ?? askedRuling(action, action.decision);
  return decideAgain(action, { ...ruling, human_reviewed: true }, present).blocked;
}
