/** Panels show demands to readers (docs/reference/reviews.md). */
import { limits, type Panel, type Reviewer } from "@countersign/contract";
import { isFreezeReason } from "../deciding/freezes.ts";
import { membrane_demand_name, type ReviewDemand } from "../policy/escalation-terms.ts";
import { formatTimestampUs, timestampUs } from "../time.ts";
import { clipText } from "../values/clip-text.ts";

export interface CountedDemand extends ReviewDemand {
  readonly approved_by: readonly string[];
  /** Approvers who exceeded the pace and chose a second person over a reason. One more person must approve. */
  readonly needs_second?: readonly string[];
  /** From the opening of the second tier to the end of the review. */
  readonly tier_left_us?: number;
  /** The rule's quorum if earlier approvals meet part of it. */
  readonly asked_quorum?: number;
  /** `reviewers` then includes the tier. */
  readonly tier_open?: true;
  /** Cannot be the only approvers. */
  readonly parties?: readonly string[];
  /** By approver: the absent reviewer. Both count as one vote. */
  readonly in_place_of?: Readonly<Record<string, string>>;
  /** Its reviewers got a mail. Kept only if a demand waits for another. */
  readonly told?: boolean;
  /** Policies replaced by a reassignment. */
  readonly replaces?: readonly string[];
  /** Demands for which approvals before a reassignment counted. The people must still be reviewers of those. */
  readonly carried?: readonly {
    readonly person: string;
    readonly demand: Pick<CountedDemand, "reviewers" | "in_place_of">;
  }[];
}

type Approvals = Pick<CountedDemand, "quorum" | "approved_by" | "needs_second" | "parties" | "in_place_of">;

export const reassigned_demand_name = "escalation.reassigned";

/** A counted approval may need a second person. */
function requiredOf({ quorum, approved_by, needs_second = [] }: Approvals): number {
  return quorum + (needs_second.some((person) => approved_by.includes(person)) ? 1 : 0);
}

export function isMet(demand: Approvals): boolean {
  return missingApprovals(demand) === 0;
}

/** A reviewer and the delegate count as one. */
function countApprovals({ approved_by, in_place_of = {} }: Approvals): number {
  return new Set(approved_by.map((person) => in_place_of[person] ?? person)).size;
}

/** At least one is missing if all approvers are parties. */
export function missingApprovals(demand: Approvals): number {
  return Math.max(requiredOf(demand) - countApprovals(demand), isByPartiesOnly(demand) ? 1 : 0);
}

function isByPartiesOnly({ approved_by, parties = [] }: Approvals): boolean {
  return approved_by.every((person) => parties.includes(person));
}

/** True if all demands it waits for are met, also indirectly. */
export function hasTurn({ after }: CountedDemand, demands: readonly CountedDemand[]): boolean {
  if (after === undefined) return true;
  return demands.every((other) => other.policy !== after || (isMet(other) && hasTurn(other, demands)));
}

/** RFC 3339, or null without a second tier. */
export function tierOpensAt({ tier_left_us }: CountedDemand, expires_at: string): string | null {
  return tier_left_us === undefined ? null : formatTimestampUs(timestampUs(expires_at) - tier_left_us);
}

export function panelsOf(demands: readonly CountedDemand[], expires_at: string): Panel[] {
  return demands.map((demand) => ({
    source: sourceOf(demand),
    policy_id: demand.policy_id ?? null,
    policy: demand.policy,
    reviewers: [...demand.reviewers],
    required: requiredOf(demand),
    approvals: countApprovals(demand),
    approved_by: [...demand.approved_by],
    missing: missingText(demand),
    after: demand.after ?? null,
    ...tierPart(demand, expires_at),
    ...(demand.pace === undefined ? {} : { pace: demand.pace }),
    status: !hasTurn(demand, demands) ? "waiting" : isMet(demand) ? "met" : "open",
  }));
}

function tierPart(demand: CountedDemand, expires_at: string): Pick<Panel, "tier"> {
  const opens_at = tierOpensAt(demand, expires_at);
  if (demand.tier === undefined || opens_at === null) return {};
  return { tier: { reviewers: [...demand.tier.reviewers], opens_at } };
}

function sourceOf({ policy, policy_id }: ReviewDemand): Panel["source"] {
  if (policy_id !== undefined) return "policy";
  if (policy === membrane_demand_name) return "membrane";
  if (isFreezeReason({ policy_id: null, policy })) return "freeze";
  return policy === reassigned_demand_name ? "reassignment" : "policy";
}

const named_max = 10;

/** Says who is missing, for example "1 more approval by any operator or usr_1". Null if nobody is. */
export function missingText(demand: CountedDemand): string | null {
  const missing = missingApprovals(demand);
  if (missing === 0) return null;
  const count = `${missing} more ${missing === 1 ? "approval" : "approvals"}`;
  const { approved_by, parties = [], in_place_of = {} } = demand;
  const alone = parties.length > 0 && isByPartiesOnly(demand);
  const other = alone ? `, one of them not ${parties.join(" or ")}, because the action is for that person` : "";
  if (demand.met_with !== undefined) return clipped(`${count} by reviewers of ${demand.met_with}${other}`);
  const voted = new Set(approved_by.flatMap((person) => [person, in_place_of[person] ?? person]));
  const left = demand.reviewers.filter(({ type, id }) => type === "role" || !voted.has(id));
  return clipped(
    `${count} by ${left.length === 0 && voted.size > 0 && demand.reviewers.length > 0 ? "other reviewers" : reviewersText(left)}${other}`,
  );
}

function clipped(text: string): string {
  return clipText(text, limits.comment_chars_max);
}

function reviewersText(reviewers: readonly Reviewer[]): string {
  if (reviewers.length === 0) return "any reviewer";
  const names = reviewers.slice(0, named_max).map(({ type, id }) => (type === "role" ? `any ${id}` : id));
  if (reviewers.length > named_max) names.push(`${reviewers.length - named_max} others`);
  const last = names.pop();
  return names.length === 0 ? `${last}` : `${names.join(", ")} or ${last}`;
}
