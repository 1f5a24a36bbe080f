import { type Reason, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import type { EscalationTerms, MembraneSettings } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { parseDurationSeconds } from "../time.ts";
import type { CompiledPolicy } from "./compile.ts";

/** What is known about a user or key that a rule names as a reviewer. */
export interface KnownReviewer {
  readonly role: Role;
  /** The user, or the key's chain of rotations. */
  readonly self: string;
  /** The user who made the key; without such a user the same as `self`. */
  readonly person: string;
}

/** What one rule demands of a review: which rule, who may approve, how many of them. */
export interface ReviewDemand {
  /** The name of the policy; `membrane_demand_name` for the membrane's own settings. */
  readonly policy: string;
  /** Who may approve; empty: any reviewer. */
  readonly reviewers: readonly Reviewer[];
  /** How many different people must approve. */
  readonly quorum: number;
}

/** The `policy` of a demand that comes from the membrane's settings. */
export const membrane_demand_name = "membrane.escalation";

/** The part of a policy that says who must approve what it holds. */
export type HoldingPolicy = Pick<CompiledPolicy, "name" | "escalation" | "approvals_min">;

/**
 * Merges what the policies that hold an action, and the membrane, demand of its review: every rule's demand, the shortest
 * time limit, and approval on time-out only where the membrane allows it and no policy forbids it.
 * A policy takes what it leaves out from the membrane. `membrane_asks`: the membrane holds the action itself, by a risk
 * threshold or its default verdict.
 */
export function mergeTerms(
  membrane: MembraneSettings["escalation"],
  holding: readonly HoldingPolicy[],
  membrane_asks: boolean,
): EscalationTerms {
  const demands: ReviewDemand[] = holding.map((policy) => demandOf(policy, membrane));
  // The membrane's demand counts beside those of policies: a policy must not hand the action to fewer or other reviewers.
  if (membrane_asks || holding.length === 0)
    demands.push({ policy: membrane_demand_name, reviewers: membrane.reviewers, quorum: membrane.quorum });
  const timeouts_seconds = holding.map(
    ({ escalation: { timeout } }) =>
      (timeout === undefined ? null : parseDurationSeconds(timeout)) ?? membrane.timeout_seconds,
  );
  const forbidden = holding.some(
    ({ escalation, approvals_min }) => escalation.on_timeout === "block" || approvals_min > 1,
  );
  return {
    demands,
    // Where policies hold the action, the membrane's time limit counts only for a policy without one.
    timeout_seconds: holding.length === 0 ? membrane.timeout_seconds : Math.min(...timeouts_seconds),
    on_timeout: forbidden ? "block" : membrane.on_timeout,
  };
}

/**
 * Returns what policies demand themselves that hold an action for these reasons; a demand does not take what it leaves out
 * from the membrane. Policies that held the action for the reasons `before` are left out: the review meets them already.
 */
export function heldFor(
  reasons: readonly Reason[],
  policySet: PolicySet,
  before: readonly Reason[] = [],
): ReviewDemand[] {
  const holding = (those: readonly Reason[]) =>
    new Set(those.flatMap(({ effect, policy_id }) => (effect === "escalate" && policy_id !== null ? [policy_id] : [])));
  const [now, then] = [holding(reasons), holding(before)];
  return policySet.live.placed.flatMap(({ policy }) =>
    now.has(policy.policy_id) && !then.has(policy.policy_id) ? [demandOf(policy, { reviewers: [], quorum: 1 })] : [],
  );
}

/** Returns what a policy demands. `left_out` has what its document leaves out. */
function demandOf(
  { name, escalation, approvals_min }: HoldingPolicy,
  left_out: Pick<ReviewDemand, "reviewers" | "quorum">,
): ReviewDemand {
  return {
    policy: name,
    reviewers: escalation.reviewers?.map(reviewerOf) ?? left_out.reviewers,
    quorum: Math.max(escalation.quorum ?? left_out.quorum, approvals_min),
  };
}

/** Who may vote on a review, and how many approvals it takes at least. */
export interface Electorate {
  /** Empty: any reviewer. */
  readonly reviewers: Reviewer[];
  readonly required: number;
}

/**
 * Returns who may vote on a review with these demands. The reviewers of a demand are left out if another demand implies it,
 * because that demand's reviewers meet both. `required` is a lower limit: nobody meets two demands without a common reviewer.
 * A named user meets the role reviewer, because nobody below it may decide; `known` says whether a user meets a higher role,
 * and whether two names are one person. Source: docs/decisions/0011.
 */
export function electorateOf(demands: readonly ReviewDemand[], known: ReadonlyMap<string, KnownReviewer>): Electorate {
  const implies = (a: ReviewDemand, b: ReviewDemand): boolean =>
    a.quorum >= b.quorum && reviewersOf(a).every((reviewer) => meetsDemand(reviewer, b, known));
  const needed = demands.filter(
    (demand, n) => !demands.some((other, m) => m !== n && implies(other, demand) && (m < n || !implies(demand, other))),
  );
  const apart: ReviewDemand[] = [];
  for (const demand of [...needed].sort((a, b) => b.quorum - a.quorum))
    if (!apart.some((other) => haveCommonReviewer(other, demand, known))) apart.push(demand);
  return {
    reviewers: needed.some(({ reviewers }) => reviewers.length === 0)
      ? []
      : unique(needed.flatMap(({ reviewers }) => reviewers)),
    required: apart.reduce((sum, { quorum }) => sum + quorum, 0),
  };
}

/** Returns the ids that `electorateOf` must know more about; none if all demands name the same reviewers, or roles only. */
export function reviewersToKnow(demands: readonly Pick<ReviewDemand, "reviewers">[]): string[] {
  const named = demands.flatMap(({ reviewers }) => (reviewers.length === 0 ? [] : [reviewers]));
  if (new Set(named.map((reviewers) => JSON.stringify(unique(reviewers)))).size < 2) return [];
  return unique(named.flat())
    .filter(({ type }) => type === "user")
    .map(({ id }) => id);
}

/** Returns how many people can approve at most; null: no limit, because a role is named, or nobody. */
export function peopleNamed(reviewers: readonly Reviewer[]): number | null {
  if (reviewers.length === 0 || reviewers.some(({ type }) => type === "role")) return null;
  return new Set(reviewers.map(({ id }) => id)).size;
}

/** Reads `role:operator` or `user:usr_…`. */
export function reviewerOf(text: string): Reviewer {
  const colon = text.indexOf(":");
  return { type: text.slice(0, colon) === "user" ? "user" : "role", id: text.slice(colon + 1) };
}

const anyReviewer: readonly Reviewer[] = [{ type: "role", id: "reviewer" }];

function reviewersOf({ reviewers }: ReviewDemand): readonly Reviewer[] {
  return reviewers.length === 0 ? anyReviewer : reviewers;
}

function haveCommonReviewer(a: ReviewDemand, b: ReviewDemand, known: ReadonlyMap<string, KnownReviewer>): boolean {
  return (
    reviewersOf(a).some((reviewer) => meetsDemand(reviewer, b, known)) ||
    reviewersOf(b).some((reviewer) => meetsDemand(reviewer, a, known))
  );
}

function meetsDemand(reviewer: Reviewer, demand: ReviewDemand, known: ReadonlyMap<string, KnownReviewer>): boolean {
  return reviewersOf(demand).some((member) => meets(reviewer, member, known));
}

/** Whether a reviewer is the person, or has the role, that a demand names as `member`. */
function meets(reviewer: Reviewer, member: Reviewer, known: ReadonlyMap<string, KnownReviewer>): boolean {
  const least = member.id as Role;
  if (reviewer.type === "role") return member.type === "role" && roleMeets(reviewer.id as Role, [least]);
  const who = known.get(reviewer.id);
  if (member.type === "role") return least === "reviewer" || (who !== undefined && roleMeets(who.role, [least]));
  if (reviewer.id === member.id) return true;
  return who !== undefined && (who.person === member.id || who.self === known.get(member.id)?.self);
}

function unique(reviewers: readonly Reviewer[]): Reviewer[] {
  const byKey = new Map(reviewers.map((reviewer) => [`${reviewer.type}:${reviewer.id}`, reviewer]));
  return [...byKey.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, reviewer]) => ({ type: reviewer.type, id: reviewer.id }));
}
