/**
 * Time within a review: when the second tier of a demand opens, and when reviewers are reminded. All of it is worked out from the
 * moment at which somebody looks, so no timer has to fire for a vote to be judged right. See docs/reference/reviews.md.
 */
import { type Escalation, limits, type Reviewer } from "@countersign/contract";
import { type ReviewDemand, unitedReviewers } from "../policy/escalation-terms.ts";
import { formatTimestampUs, isReached, timestampUs, us_per_second } from "../time.ts";
import { type CountedDemand, isMet, panelsOf, tierOpensAt } from "./panels.ts";

/** The part of a review that tiers are about. */
interface Tiered {
  readonly record: Escalation;
  readonly demands: readonly CountedDemand[];
}

/**
 * Returns a demand without approvals. Its second tier opens so long after `from`, the moment at which the demand joined the review. A
 * tier that would open at or after `expires_at` is left out.
 */
export function countedDemand({ tier, ...demand }: ReviewDemand, from: string, expires_at: string): CountedDemand {
  const counted = { ...demand, approved_by: [] };
  if (tier === undefined) return counted;
  const tier_left_us = timestampUs(expires_at) - timestampUs(from) - tier.after_seconds * us_per_second;
  return tier_left_us <= 0 ? counted : { ...counted, tier, tier_left_us };
}

/**
 * Returns the review as it is `at` a moment: the reviewers of each second tier whose time has come may vote, and meet the demand of their
 * rule. A demand that is met keeps its tier closed. Panels show when tiers open; the database moves the end of a review, and its tiers with
 * it, if the clock of the node that opened it was wrong.
 */
export function openTiers<R extends Tiered>(review: R, at: string): R {
  const { record, demands } = review;
  if (record.status !== "pending" || demands.every(({ tier }) => tier === undefined)) return review;
  const opened: Reviewer[] = [];
  const after = demands.map((demand): CountedDemand => {
    const opens_at = tierOpensAt(demand, record.expires_at);
    if (opens_at === null || demand.tier_open === true || isMet(demand) || !isReached(opens_at, at)) return demand;
    const { reviewers, tier } = demand;
    opened.push(...(tier?.reviewers ?? []));
    return { ...demand, reviewers: unitedReviewers(reviewers, tier?.reviewers ?? []), tier_open: true };
  });
  const reviewers = unitedReviewers(record.reviewers, opened);
  const panels = panelsOf(after, record.expires_at);
  return { ...review, record: { ...record, reviewers, panels }, demands: after };
}

/** Why reviewers get a further mail: half of the time is over, a tenth of it is left, or the second tier of a rule opened. */
export type Notice =
  | { readonly kind: "half" | "tenth"; readonly at: string }
  | { readonly kind: "tier"; readonly at: string; readonly policy: string };

/** What notices depend on. */
interface TimedReview extends Pick<Escalation, "created_at" | "expires_at"> {
  readonly demands: readonly CountedDemand[];
}

/** Returns the notices of a review, the earliest first. A review that is shorter than 10 minutes has no reminders. */
export function noticesOf({ created_at, expires_at, demands }: TimedReview): Notice[] {
  const begin = timestampUs(created_at);
  const time = timestampUs(expires_at) - begin;
  const after = (tenths: number) => formatTimestampUs(begin + Math.floor((time / 10) * tenths));
  const reminders: Notice[] =
    time < limits.reminders_timeout_seconds_min * us_per_second
      ? []
      : [
          { kind: "half", at: after(5) },
          { kind: "tenth", at: after(9) },
        ];
  const tiers = demands.flatMap((demand): Notice[] => {
    const at = tierOpensAt(demand, expires_at);
    return at === null ? [] : [{ kind: "tier", at, policy: demand.policy }];
  });
  return [...reminders, ...tiers].sort((a, b) => timestampUs(a.at) - timestampUs(b.at));
}

/** Returns when the next notice after `at` is due; null: none is. */
export function nextNoticeAt(review: TimedReview, at: string): string | null {
  return noticesOf(review).find((notice) => !isReached(notice.at, at))?.at ?? null;
}
