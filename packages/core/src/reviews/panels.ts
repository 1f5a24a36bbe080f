/**
 * Panels: the demands of a review as readers see them. Each rule that holds the action has one panel: whose rule it is, who must
 * approve, who has approved, and who is missing. See docs/reference/reviews.md.
 */
import { limits, type Panel, type Reviewer } from "@countersign/contract";
import { isFreezeReason } from "../deciding/freezes.ts";
import { membrane_demand_name, type ReviewDemand } from "../policy/escalation-terms.ts";
import { formatTimestampUs, timestampUs } from "../time.ts";
import { clipText } from "../values/clip-text.ts";

/** A demand and its approvals so far. */
export interface CountedDemand extends ReviewDemand {
  /** The people who approved and are among its reviewers. */
  readonly approved_by: readonly string[];
  /**
   * Those of them who approved faster than the pace of the rule allows, and who asked for a second person in place of a reason. One more
   * person must approve then. Absent: nobody.
   */
  readonly needs_second?: readonly string[];
  /** How long before the end of the review the second tier opens, in microseconds. Absent: there is none. */
  readonly tier_left_us?: number;
  /** The quorum of the rule, where earlier approvals of the changed action meet the rest of it. Absent: `quorum` is the rule's. */
  readonly asked_quorum?: number;
  /** True: the second tier is open, and `reviewers` includes it. */
  readonly tier_open?: true;
  /** Those of them for whom the action is: they cannot be its only approvers. Absent: none. */
  readonly parties?: readonly string[];
  /** Those of them who approved in place of an absent reviewer, with that reviewer: the two have one vote. Absent: none. */
  readonly in_place_of?: Readonly<Record<string, string>>;
  /** True: its reviewers got a mail. Kept only for reviews in which a demand waits for another one. */
  readonly told?: boolean;
  /** The policies whose demands a reassignment replaced by this one. Absent: none. */
  readonly replaces?: readonly string[];
  /** Of a reassignment: which demands its earlier approvals counted for. Those people must still be among the reviewers of each. */
  readonly carried?: readonly {
    readonly person: string;
    readonly demand: Pick<CountedDemand, "reviewers" | "in_place_of">;
  }[];
}

type Approvals = Pick<CountedDemand, "quorum" | "approved_by" | "needs_second" | "parties" | "in_place_of">;

/** The `policy` of the demand of a review that was reassigned. */
export const reassigned_demand_name = "escalation.reassigned";

/** Returns how many people must approve: one more if an approval that counts needs a second person. */
function requiredOf({ quorum, approved_by, needs_second = [] }: Approvals): number {
  return quorum + (needs_second.some((person) => approved_by.includes(person)) ? 1 : 0);
}

/** Whether as many people have approved as the demand takes. */
export function isMet(demand: Approvals): boolean {
  return missingApprovals(demand) === 0;
}

/** Returns how many approvals a demand has. A reviewer and whoever approved in that reviewer's place count as one. */
function countApprovals({ approved_by, in_place_of = {} }: Approvals): number {
  return new Set(approved_by.map((person) => in_place_of[person] ?? person)).size;
}

/** Returns how many approvals are missing. If the action is for everybody who approved, one by somebody else is missing. */
export function missingApprovals(demand: Approvals): number {
  return Math.max(requiredOf(demand) - countApprovals(demand), isByPartiesOnly(demand) ? 1 : 0);
}

function isByPartiesOnly({ approved_by, parties = [] }: Approvals): boolean {
  return approved_by.every((person) => parties.includes(person));
}

/** Whether the turn of a demand has come: what it waits for is met, and the turn of that has come too. */
export function hasTurn({ after }: CountedDemand, demands: readonly CountedDemand[]): boolean {
  if (after === undefined) return true;
  return demands.every((other) => other.policy !== after || (isMet(other) && hasTurn(other, demands)));
}

/** Returns when the second tier of a demand opens, RFC 3339; null: there is none. */
export function tierOpensAt({ tier_left_us }: CountedDemand, expires_at: string): string | null {
  return tier_left_us === undefined ? null : formatTimestampUs(timestampUs(expires_at) - tier_left_us);
}

/** Returns the panels of a review that ends at `expires_at`. */
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

/** How many reviewers a text names. */
const named_max = 10;

/** Says who is missing, such as "1 more approval by any operator or usr_1"; null if nobody is. */
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
