/** Turns the demands of a review into panels for the API (docs/reference/reviews.md). */
import { limits, type Panel, type Reviewer } from "@countersign/contract";
import { isFreezeReason } from "../deciding/freezes.ts";
import { membrane_demand_name, type ReviewDemand } from "../policy/escalation-terms.ts";
import { formatTimestampUs, timestampUs } from "../time.ts";
import { clipText } from "../values/clip-text.ts";

export interface CountedDemand extends ReviewDemand {
  readonly approved_by: readonly string[];
  /** Approvers who were too fast and chose a second approver instead of a reason. Then one more person must approve. */
  readonly needs_second?: readonly string[];
  /** Time in µs from the opening of the second tier to the end of the review. */
  readonly tier_left_us?: number;
  /** The rule's own quorum, if `quorum` is 1 because others already approved the same changed action. */
  readonly asked_quorum?: number;
  /** Set after the second tier opened. `reviewers` then includes the reviewers of the tier. */
  readonly tier_open?: true;
  /** Approvers for whom the agent acts. They cannot be the only approvers. */
  readonly parties?: readonly string[];
  /** Maps a delegate who approved to the absent reviewer. Both together count as one approval. */
  readonly in_place_of?: Readonly<Record<string, string>>;
  /** True: the reviewers of this demand got a mail. Stored only if a demand of the review has `after`. */
  readonly told?: boolean;
  /** Policies whose demands a reassignment replaced with this one. */
  readonly replaces?: readonly string[];
  /**
   * Approvals from before a reassignment, each with the old demand that it met. An approval counts only while the person
   * may still vote for that old demand.
   */
  readonly carried?: readonly {
    readonly person: string;
    readonly demand: Pick<CountedDemand, "reviewers" | "in_place_of">;
  }[];
}

type Approvals = Pick<CountedDemand, "quorum" | "approved_by" | "needs_second" | "parties" | "in_place_of">;

export const reassigned_demand_name = "escalation.reassigned";

/** Adds 1 to the quorum if a counted approval needs a second approver. */
function requiredOf({ quorum, approved_by, needs_second = [] }: Approvals): number {
  return quorum + (needs_second.some((person) => approved_by.includes(person)) ? 1 : 0);
}

export function isMet(demand: Approvals): boolean {
  return missingApprovals(demand) === 0;
}

/** Counts a delegate and the absent reviewer as one person. */
function countApprovals({ approved_by, in_place_of = {} }: Approvals): number {
  return new Set(approved_by.map((person) => in_place_of[person] ?? person)).size;
}

/** Returns at least 1 if nobody but parties approved. */
export function missingApprovals(demand: Approvals): number {
  return Math.max(requiredOf(demand) - countApprovals(demand), isByPartiesOnly(demand) ? 1 : 0);
}

function isByPartiesOnly({ approved_by, parties = [] }: Approvals): boolean {
  return approved_by.every((person) => parties.includes(person));
}

/** Returns true if the demand named by `after` is met, and each demand that this one waits for in turn. */
export function hasTurn({ after }: CountedDemand, demands: readonly CountedDemand[]): boolean {
  if (after === undefined) return true;
  return demands.every((other) => other.policy !== after || (isMet(other) && hasTurn(other, demands)));
}

/** Returns when the second tier opens (RFC 3339). Null: the demand has no second tier. */
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
    ...(demand.confirm === undefined ? {} : { confirm: demand.confirm }),
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

/** Returns who must still approve, such as "1 more approval by any operator or usr_1". Null: the demand is met. */
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
