import {
  type Confirm,
  limits,
  type Pace,
  type Reason,
  type Reviewer,
  type Role,
  roleMeets,
  strictestConfirm,
} from "@countersign/contract";
import type { EscalationTerms, MembraneSettings } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { parseDurationSeconds } from "../time.ts";
import type { CompiledPolicy } from "./compile.ts";
import { strongComponents } from "./strong-components.ts";

export interface KnownReviewer {
  readonly role: Role;
  /** User id, or the key's rotation chain. */
  readonly self: string;
  /** Creator of the key, else `self`. */
  readonly person: string;
}

/** The approvals that one rule demands. Shown in the API as a panel. */
export interface ReviewDemand {
  /** `membrane_demand_name` for the membrane's own settings. */
  readonly policy: string;
  /** Absent in old reviews. */
  readonly policy_id?: string;
  /** Empty: any reviewer. */
  readonly reviewers: readonly Reviewer[];
  readonly quorum: number;
  readonly after?: string;
  /** The demand whose reviewers also meet this one. Then only they vote. */
  readonly met_with?: string;
  /** Further reviewers who may meet this demand, this long after it joined the review. */
  readonly tier?: { readonly after_seconds: number; readonly reviewers: readonly Reviewer[] };
  /** Speed limit for approvals without a reason. */
  readonly pace?: Pace;
  /** How reviewers confirm a vote. The strictest demand of a review counts for each vote. */
  readonly confirm?: Confirm;
}

export const membrane_demand_name = "membrane.escalation";

export type HoldingPolicy = Pick<CompiledPolicy, "policy_id" | "name" | "escalation" | "approvals_min">;

type MembraneTerms = MembraneSettings["escalation"];

/**
 * Merges all demands and the timeout. A timeout approves only if the membrane allows it and no policy forbids it. The
 * membrane supplies what a policy leaves out. `membrane_asks`: a risk threshold or the default verdict holds the
 * action.
 */
export function mergeTerms(
  membrane: MembraneTerms,
  holding: readonly HoldingPolicy[],
  membrane_asks: boolean,
): EscalationTerms {
  const demands: ReviewDemand[] = holding.map((policy) => demandOf(policy, membrane));
  // A policy must not reduce or replace the membrane's reviewers.
  if (membrane_asks || holding.length === 0) demands.push(membraneDemand(membrane));
  // Nobody confirms the ruling of a time limit.
  const forbidden =
    holding.some(({ escalation, approvals_min }) => escalation.on_timeout === "block" || approvals_min > 1) ||
    demands.some(({ confirm }) => confirm !== undefined);
  const on_timeout = forbidden ? "block" : membrane.on_timeout;
  return {
    demands: inOrder(demands),
    timeout_seconds: timeLimit(membrane, holding, on_timeout === "approve" && membrane_asks, on_timeout),
    on_timeout,
    approval_valid_seconds: approvalLife(membrane, holding, membrane_asks),
  };
}

function approvalLife(membrane: MembraneTerms, holding: readonly HoldingPolicy[], membrane_asks: boolean): number {
  const by_membrane = approvalValidSeconds(membrane);
  const seconds = holding.map(
    ({ escalation: { approval_valid_for: text } }) =>
      (text === undefined ? null : parseDurationSeconds(text)) ?? by_membrane,
  );
  return Math.min(...seconds, ...(membrane_asks || holding.length === 0 ? [by_membrane] : []));
}

export function approvalValidSeconds({
  approval_valid_seconds,
}: Pick<MembraneTerms, "approval_valid_seconds">): number {
  return approval_valid_seconds ?? limits.approval_valid_seconds_default;
}

/**
 * A blocking timeout takes the shortest limit. An approving one takes the longest, because a further rule must not
 * shorten the time for objections.
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

function ownTimeLimit(
  { timeout }: HoldingPolicy["escalation"],
  { timeout_seconds }: Pick<MembraneTerms, "timeout_seconds">,
): number {
  return (timeout === undefined ? null : parseDurationSeconds(timeout)) ?? timeout_seconds;
}

/**
 * Removes `after` if the named policy does not hold this action or demands wait for each other. Otherwise nobody could
 * vote.
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

type HoldingReason = Pick<Reason, "effect" | "policy_id">;

/**
 * Returns the demands of the policies that hold an action, except those in `before`, which the review already meets.
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

export function membraneDemand({ reviewers, quorum, pace, confirm }: MembraneTerms): ReviewDemand {
  return { policy: membrane_demand_name, reviewers, quorum, ...pacePart(pace), ...confirmPart([confirm]) };
}

/**
 * Returns the demand of a policy, with the membrane's defaults. Omits a tier that opens after the policy's own timeout,
 * because a further rule with more time would let its reviewers decide.
 */
export function demandOf(
  { policy_id, name, escalation, approvals_min }: HoldingPolicy,
  membrane: Pick<MembraneTerms, "reviewers" | "quorum" | "timeout_seconds" | "pace" | "confirm">,
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
    ...confirmPart([membrane.confirm, escalation.confirm]),
  };
}

function tierOf({ then }: HoldingPolicy["escalation"]): ReviewDemand["tier"] {
  const after_seconds = then === undefined ? null : parseDurationSeconds(then.after);
  if (then === undefined || after_seconds === null) return undefined;
  return { after_seconds, reviewers: then.reviewers.map(reviewerOf) };
}

function pacePart(pace: Pace | null | undefined): Pick<ReviewDemand, "pace"> {
  return pace == null || Object.keys(pace).length === 0 ? {} : { pace };
}

function confirmPart(asked: readonly (Confirm | null | undefined)[]): Pick<ReviewDemand, "confirm"> {
  const confirm = strictestConfirm(asked);
  return confirm === null ? {} : { confirm };
}

export interface Electorate {
  /** Empty: any reviewer. */
  readonly reviewers: Reviewer[];
  readonly required: number;
  /** The given demands, each with `met_with`. */
  readonly demands: readonly ReviewDemand[];
}

/**
 * Returns who may vote. If one demand implies another, only its reviewers vote. Demands that wait for each other or
 * have a second tier keep their reviewers; tier reviewers count from the start. `required` is a lower limit: one person
 * can meet two demands only as a common reviewer.
 *
 * A named user meets the role reviewer, because lower roles may not decide. `known` has users' roles and which names
 * are one person. Source: docs/decisions/0011-people-in-the-loop.md.
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
 * True if a demand needs as many people as `b`, only reviewers of `b`, and as strict a confirmation. Without look-ups a
 * named user meets only the role reviewer.
 */
export function asksAsMuch(
  a: Pick<ReviewDemand, "reviewers" | "tier" | "quorum" | "confirm">,
  b: ReviewDemand,
): boolean {
  const nobody_known = new Map<string, KnownReviewer>();
  if (strictestConfirm([a.confirm, b.confirm]) !== (a.confirm ?? null)) return false;
  return a.quorum >= b.quorum && everyoneOf(a).every((reviewer) => meetsSome(reviewer, everyoneOf(b), nobody_known));
}

/** Returns the ids that `electorateOf` must know. Empty if all demands name the same reviewers, or only roles. */
export function reviewersToKnow(demands: readonly Pick<ReviewDemand, "reviewers" | "tier">[]): string[] {
  const named = demands.flatMap((demand) => (demand.reviewers.length === 0 ? [] : [everyoneOf(demand)]));
  if (new Set(named.map((reviewers) => JSON.stringify(unique(reviewers)))).size < 2) return [];
  return unique(named.flat())
    .filter(({ type }) => type === "user")
    .map(({ id }) => id);
}

/** Returns how many people can approve. Null: no limit. */
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

/** True if a reviewer meets `member` of a demand. */
function meets(reviewer: Reviewer, member: Reviewer, known: ReadonlyMap<string, KnownReviewer>): boolean {
  const least = member.id as Role;
  if (reviewer.type === "role") return member.type === "role" && roleMeets(reviewer.id as Role, [least]);
  const who = known.get(reviewer.id);
  if (member.type === "role") return least === "reviewer" || (who !== undefined && roleMeets(who.role, [least]));
  if (reviewer.id === member.id) return true;
  return who !== undefined && (who.person === member.id || who.self === known.get(member.id)?.self);
}

/** Empty `reviewers` means any reviewer. */
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
