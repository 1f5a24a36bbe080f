import { limits, type Pace, type Reason, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import type { EscalationTerms, MembraneSettings } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { parseDurationSeconds } from "../time.ts";
import type { CompiledPolicy } from "./compile.ts";
import { strongComponents } from "./strong-components.ts";

/** What is known about a user or key that a rule names as a reviewer. */
export interface KnownReviewer {
  readonly role: Role;
  /** The user, or the key's chain of rotations. */
  readonly self: string;
  /** The user who made the key; without such a user the same as `self`. */
  readonly person: string;
}

/** What one rule demands of a review: which rule, who may approve, how many of them. Readers see it as a panel of the review. */
export interface ReviewDemand {
  /** The name of the policy; `membrane_demand_name` for the membrane's own settings. */
  readonly policy: string;
  /** Absent: no policy demands it, or the review was opened before ids were stored. */
  readonly policy_id?: string;
  /** Who may approve; empty: any reviewer. */
  readonly reviewers: readonly Reviewer[];
  /** How many different people must approve. */
  readonly quorum: number;
  /** The name of the demand that must be met before this one's turn comes. Absent: its turn has come. */
  readonly after?: string;
  /** The name of the demand whose reviewers meet this one too, so that only they vote. Absent: its own reviewers vote. */
  readonly met_with?: string;
  /** Further reviewers who may meet this demand too, so long after it joined the review, if it is not met by then. Absent: none. */
  readonly tier?: { readonly after_seconds: number; readonly reviewers: readonly Reviewer[] };
  /** How fast its approvals may be without a reason. Absent: as fast as they are. */
  readonly pace?: Pace;
}

/** The `policy` of a demand that comes from the membrane's settings. */
export const membrane_demand_name = "membrane.escalation";

/** The part of a policy that says who must approve what it holds. */
export type HoldingPolicy = Pick<CompiledPolicy, "policy_id" | "name" | "escalation" | "approvals_min">;

type MembraneTerms = MembraneSettings["escalation"];

/**
 * Merges what the policies that hold an action, and the membrane, demand of its review: every rule's demand in the order that
 * policies ask for, the time limit, and approval on time-out only where the membrane allows it and no policy forbids it.
 * A policy takes what it leaves out from the membrane. `membrane_asks`: the membrane holds the action itself, by a risk
 * threshold or its default verdict.
 */
export function mergeTerms(
  membrane: MembraneTerms,
  holding: readonly HoldingPolicy[],
  membrane_asks: boolean,
): EscalationTerms {
  const demands: ReviewDemand[] = holding.map((policy) => demandOf(policy, membrane));
  // The membrane's demand counts beside those of policies: a policy must not hand the action to fewer or other reviewers.
  if (membrane_asks || holding.length === 0) demands.push(membraneDemand(membrane));
  const forbidden = holding.some(
    ({ escalation, approvals_min }) => escalation.on_timeout === "block" || approvals_min > 1,
  );
  const on_timeout = forbidden ? "block" : membrane.on_timeout;
  return {
    demands: inOrder(demands),
    timeout_seconds: timeLimit(membrane, holding, on_timeout === "approve" && membrane_asks, on_timeout),
    on_timeout,
    approval_valid_seconds: approvalLife(membrane, holding, membrane_asks),
  };
}

/** Returns how long an approval lives: the shortest time that a rule gives it. A policy takes what it leaves out from the membrane. */
function approvalLife(membrane: MembraneTerms, holding: readonly HoldingPolicy[], membrane_asks: boolean): number {
  const by_membrane = approvalValidSeconds(membrane);
  const seconds = holding.map(
    ({ escalation: { approval_valid_for: text } }) =>
      (text === undefined ? null : parseDurationSeconds(text)) ?? by_membrane,
  );
  return Math.min(...seconds, ...(membrane_asks || holding.length === 0 ? [by_membrane] : []));
}

/** Returns how long an approval lives by the membrane's own settings. */
export function approvalValidSeconds({
  approval_valid_seconds,
}: Pick<MembraneTerms, "approval_valid_seconds">): number {
  return approval_valid_seconds ?? limits.approval_valid_seconds_default;
}

/**
 * Returns the time limit. If its end blocks, the shortest limit of the policies counts. If its end approves, the longest counts:
 * a further rule must not shorten the time in which people can say no. `membrane_counts`: the membrane's limit is one of them.
 */
function timeLimit(
  membrane: MembraneTerms,
  holding: readonly HoldingPolicy[],
  membrane_counts: boolean,
  on_timeout: "block" | "approve",
): number {
  const seconds = holding.map(({ escalation }) => ownTimeLimit(escalation, membrane));
  if (membrane_counts || holding.length === 0) seconds.push(membrane.timeout_seconds);
  return on_timeout === "approve" ? Math.max(...seconds) : Math.min(...seconds);
}

/** Returns the time limit of one rule. */
function ownTimeLimit(
  { timeout }: HoldingPolicy["escalation"],
  { timeout_seconds }: Pick<MembraneTerms, "timeout_seconds">,
): number {
  return (timeout === undefined ? null : parseDurationSeconds(timeout)) ?? timeout_seconds;
}

/**
 * Removes `after` from the demands whose order cannot be kept: the named policy does not hold this action, or it waits for this
 * demand itself. Policies that wait for each other in a cycle would leave nobody whose turn comes.
 */
function inOrder(demands: readonly ReviewDemand[]): readonly ReviewDemand[] {
  if (demands.every(({ after }) => after === undefined)) return demands;
  const edges = demands.map(({ after }) =>
    after === undefined ? [] : demands.flatMap(({ policy }, place) => (policy === after ? [place] : [])),
  );
  const components = strongComponents(edges);
  return demands.map(({ after, ...demand }, place) => {
    const targets = edges[place] ?? [];
    const waits = targets.length > 0 && targets.every((target) => components[target] !== components[place]);
    return waits && after !== undefined ? { ...demand, after } : demand;
  });
}

/** The part of a reason that says which policy holds the action. */
type HoldingReason = Pick<Reason, "effect" | "policy_id">;

/**
 * Returns what policies demand that hold an action for these reasons. A policy takes what it leaves out from the membrane.
 * Policies that held the action for the reasons `before` are left out: the review meets them already.
 */
export function heldFor(
  reasons: readonly HoldingReason[],
  policySet: PolicySet,
  membrane: MembraneTerms,
  before: readonly HoldingReason[] = [],
): ReviewDemand[] {
  const holding = (those: readonly HoldingReason[]) =>
    new Set(those.flatMap(({ effect, policy_id }) => (effect === "escalate" && policy_id !== null ? [policy_id] : [])));
  const [now, then] = [holding(reasons), holding(before)];
  return policySet.live.placed.flatMap(({ policy }) =>
    now.has(policy.policy_id) && !then.has(policy.policy_id) ? [demandOf(policy, membrane)] : [],
  );
}

/** Returns what the membrane itself demands. */
export function membraneDemand({ reviewers, quorum, pace }: MembraneTerms): ReviewDemand {
  return { policy: membrane_demand_name, reviewers, quorum, ...pacePart(pace) };
}

/**
 * Returns what a policy demands, with the membrane's terms for what its document leaves out. A second tier that would open at or after
 * the end of the policy's own time limit is left out: else a further rule with more time would let its reviewers decide.
 */
export function demandOf(
  { policy_id, name, escalation, approvals_min }: HoldingPolicy,
  membrane: Pick<MembraneTerms, "reviewers" | "quorum" | "timeout_seconds" | "pace">,
): ReviewDemand {
  const tier = tierOf(escalation);
  return {
    policy: name,
    policy_id,
    reviewers: escalation.reviewers?.map(reviewerOf) ?? membrane.reviewers,
    quorum: Math.max(escalation.quorum ?? membrane.quorum, approvals_min),
    ...(escalation.after === undefined ? {} : { after: escalation.after }),
    ...(tier === undefined || tier.after_seconds >= ownTimeLimit(escalation, membrane) ? {} : { tier }),
    ...pacePart({ ...membrane.pace, ...escalation.pace }),
  };
}

/** Returns the second tier that a policy names; undefined: none. */
function tierOf({ then }: HoldingPolicy["escalation"]): ReviewDemand["tier"] {
  const after_seconds = then === undefined ? null : parseDurationSeconds(then.after);
  if (then === undefined || after_seconds === null) return undefined;
  return { after_seconds, reviewers: then.reviewers.map(reviewerOf) };
}

function pacePart(pace: Pace | null | undefined): Pick<ReviewDemand, "pace"> {
  return pace == null || Object.keys(pace).length === 0 ? {} : { pace };
}

/** Who may vote on a review, and how many approvals it takes at least. */
export interface Electorate {
  /** Empty: any reviewer. */
  readonly reviewers: Reviewer[];
  readonly required: number;
  /** The given demands, each with `met_with`. */
  readonly demands: readonly ReviewDemand[];
}

/**
 * Returns who may vote on a review with these demands. The reviewers of a demand are left out if another demand implies it,
 * because that demand's reviewers meet both. Demands that wait for each other keep their reviewers, because these vote in turn.
 * `required` is a lower limit: nobody meets two demands without a common reviewer.
 * A demand with a second tier keeps its reviewers, too, and those of the tier count from the start: they may vote later.
 * A named user meets the role reviewer, because nobody below it may decide; `known` says whether a user meets a higher role,
 * and whether two names are one person. Source: docs/decisions/0011.
 */
export function electorateOf(demands: readonly ReviewDemand[], known: ReadonlyMap<string, KnownReviewer>): Electorate {
  const implies = (a: ReviewDemand, b: ReviewDemand): boolean =>
    a.after === undefined && a.quorum >= b.quorum && everyoneOf(a).every((reviewer) => meetsDemand(reviewer, b, known));
  const isOrdered = ({ policy, after }: ReviewDemand): boolean =>
    after !== undefined || demands.some((other) => other.after === policy);
  const needed = demands.filter(
    (demand, n) =>
      isOrdered(demand) ||
      demand.tier !== undefined ||
      !demands.some(
        (other, m) => m !== n && implies(other, demand) && (m < n || isOrdered(other) || !implies(demand, other)),
      ),
  );
  const apart: ReviewDemand[] = [];
  for (const demand of [...needed].sort((a, b) => b.quorum - a.quorum))
    if (!apart.some((other) => haveCommonReviewer(other, demand, known))) apart.push(demand);
  return {
    reviewers: needed.some(({ reviewers }) => reviewers.length === 0)
      ? []
      : unique(needed.flatMap(({ reviewers }) => reviewers)),
    required: apart.reduce((sum, { quorum }) => sum + quorum, 0),
    demands: demands.map((demand) => {
      const by = needed.includes(demand) ? undefined : needed.find((other) => implies(other, demand));
      return by === undefined ? demand : { ...demand, met_with: by.policy };
    }),
  };
}

/**
 * Whether a demand asks for at least as many people as another one of the same rule, and for nobody whom the other one leaves out. A
 * named user meets no other role than reviewer here, because nothing is looked up.
 */
export function asksAsMuch(a: Pick<ReviewDemand, "reviewers" | "tier" | "quorum">, b: ReviewDemand): boolean {
  const nobody_known = new Map<string, KnownReviewer>();
  return a.quorum >= b.quorum && everyoneOf(a).every((reviewer) => meetsSome(reviewer, everyoneOf(b), nobody_known));
}

/** Returns the ids that `electorateOf` must know more about; none if all demands name the same reviewers, or roles only. */
export function reviewersToKnow(demands: readonly Pick<ReviewDemand, "reviewers" | "tier">[]): string[] {
  const named = demands.flatMap((demand) => (demand.reviewers.length === 0 ? [] : [everyoneOf(demand)]));
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

/** The reviewers of a demand with those of its second tier. */
function everyoneOf({ reviewers, tier }: Pick<ReviewDemand, "reviewers" | "tier">): readonly Reviewer[] {
  return reviewers.length === 0 ? anyReviewer : unitedReviewers(reviewers, tier?.reviewers ?? []);
}

function haveCommonReviewer(a: ReviewDemand, b: ReviewDemand, known: ReadonlyMap<string, KnownReviewer>): boolean {
  return (
    everyoneOf(a).some((reviewer) => meetsSome(reviewer, everyoneOf(b), known)) ||
    everyoneOf(b).some((reviewer) => meetsSome(reviewer, everyoneOf(a), known))
  );
}

function meetsDemand(reviewer: Reviewer, demand: ReviewDemand, known: ReadonlyMap<string, KnownReviewer>): boolean {
  return meetsSome(reviewer, reviewersOf(demand), known);
}

function meetsSome(
  reviewer: Reviewer,
  members: readonly Reviewer[],
  known: ReadonlyMap<string, KnownReviewer>,
): boolean {
  return members.some((member) => meets(reviewer, member, known));
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

/** Returns both lists as one; empty, which means any reviewer, if the first one is. */
export function unitedReviewers(reviewers: readonly Reviewer[], further: readonly Reviewer[]): Reviewer[] {
  if (reviewers.length === 0) return [];
  const known = new Set(reviewers.map(({ type, id }) => `${type}:${id}`));
  return [...reviewers, ...further.filter(({ type, id }) => !known.has(`${type}:${id}`))];
}

function unique(reviewers: readonly Reviewer[]): Reviewer[] {
  const byKey = new Map(reviewers.map((reviewer) => [`${reviewer.type}:${reviewer.id}`, reviewer]));
  return [...byKey.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, reviewer]) => ({ type: reviewer.type, id: reviewer.id }));
}
