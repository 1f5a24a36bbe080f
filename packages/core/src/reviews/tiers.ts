/**
 * Second tiers and reminders. Both are computed from the current time, so votes are correct without timers
 * (docs/reference/reviews.md).
 */
import { type Escalation, limits, type Reviewer } from "@countersign/contract";
import { type ReviewDemand, unitedReviewers } from "../policy/escalation-terms.ts";
import { formatTimestampUs, isReached, timestampUs, us_per_second } from "../time.ts";
import { type CountedDemand, isMet, panelsOf, tierOpensAt } from "./panels.ts";

interface Tiered {
  readonly record: Escalation;
  readonly demands: readonly CountedDemand[];
}

/**
 * Returns a demand without approvals. `from`: when the demand joined the review. Omits a tier that would open at or
 * after `expires_at`.
 */
export function countedDemand({ tier, ...demand }: ReviewDemand, from: string, expires_at: string): CountedDemand {
  const counted = { ...demand, approved_by: [] };
  if (tier === undefined) return counted;
  const tier_left_us = timestampUs(expires_at) - timestampUs(from) - tier.after_seconds * us_per_second;
  return tier_left_us <= 0 ? counted : { ...counted, tier, tier_left_us };
}

/**
 * Opens the second tiers that are due, so their reviewers may vote. A met demand keeps its tier closed. Tiers move with
 * `expires_at`, which the database corrects if a node's clock was wrong.
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

/** Causes of further mails: half of the time is over, a tenth is left, or a second tier opened. */
export type Notice =
  | { readonly kind: "half" | "tenth"; readonly at: string }
  | { readonly kind: "tier"; readonly at: string; readonly policy: string };

interface TimedReview extends Pick<Escalation, "created_at" | "expires_at"> {
  readonly demands: readonly CountedDemand[];
}

/** Returns the notices of a review, earliest first. Reviews under 10 minutes have no reminders. */
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

export function nextNoticeAt(review: TimedReview, at: string): string | null {
  return noticesOf(review).find((notice) => !isReached(notice.at, at))?.at ?? null;
}
