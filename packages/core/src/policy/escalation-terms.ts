import { type Reason, type Reviewer, type Role, roleMeets } from "@countersign/contract";
import type { EscalationTerms, MembraneSettings } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { parseDurationSeconds } from "../time.ts";
import type { EscalationSettings } from "./document.ts";

/** What is known of somebody whom a policy or a membrane names to review. */
export interface KnownReviewer {
  readonly role: Role;
  /** The user, or the key's chain of rotations. */
  readonly self: string;
  /** The user who made the key; else `self`. */
  readonly person: string;
}

/**
 * The terms of an escalation that several policies ask for: the largest quorum, the shortest time limit, approval on
 * time-out only where the membrane allows it and no policy forbids it, and whom each of them names (`commonReviewers` makes
 * the reviewers of it). A policy takes what it leaves out from the membrane. Where the membrane itself asks, too, by its risk
 * threshold or default verdict, its reviewers and its quorum count beside theirs. Source: policies.md §2; api.md §6.
 */
export function mergeTerms(
  membrane: MembraneSettings["escalation"],
  asked: readonly EscalationSettings[],
  membrane_asks: boolean,
): EscalationTerms {
  let quorum = 0;
  let timeout_seconds = Infinity;
  let on_timeout = membrane.on_timeout;
  const panels: (readonly Reviewer[])[] = [];
  for (const settings of asked.length === 0 ? [{}] : asked) {
    quorum = Math.max(quorum, settings.quorum ?? membrane.quorum);
    const own = settings.timeout === undefined ? null : parseDurationSeconds(settings.timeout);
    timeout_seconds = Math.min(timeout_seconds, own ?? membrane.timeout_seconds);
    if (settings.on_timeout === "block") on_timeout = "block";
    panels.push(settings.reviewers?.map(reviewerOf) ?? membrane.reviewers);
  }
  // The time limit is the policies' where they name one. But who decides, and how many: a policy that escalates what the
  // membrane holds by itself would else hand it to fewer, or to others.
  if (membrane_asks && asked.length > 0) {
    quorum = Math.max(quorum, membrane.quorum);
    panels.push(membrane.reviewers);
  }
  return { panels, quorum, timeout_seconds, on_timeout };
}

/** What a policy itself asks of a review: whom it names (nobody: whoever reviews), and how many of them. */
export interface ReviewDemand {
  readonly policy: string;
  readonly reviewers: readonly Reviewer[];
  readonly quorum: number;
}

/**
 * What the policies that hold an action by these reasons ask of whoever lets it through. Those that held it `before` are left
 * out: their terms are the review's.
 */
export function heldFor(
  reasons: readonly Reason[],
  policySet: PolicySet,
  before: readonly Reason[] = [],
): ReviewDemand[] {
  const holding = (those: readonly Reason[]) =>
    new Set(those.flatMap(({ effect, policy_id }) => (effect === "escalate" && policy_id !== null ? [policy_id] : [])));
  const [now, then] = [holding(reasons), holding(before)];
  return policySet.live.placed.flatMap(({ policy: { policy_id, name, escalation } }) => {
    if (!now.has(policy_id) || then.has(policy_id)) return [];
    return [{ policy: name, reviewers: escalation.reviewers?.map(reviewerOf) ?? [], quorum: escalation.quorum ?? 1 }];
  });
}

/**
 * Those who would do for every panel; when nobody would, everybody named. An empty panel asks for nobody in particular.
 * Somebody named does for the role reviewer in any case, because nobody below it decides anything; whether for a higher one,
 * and whether two names are one person, `known` says. Source: docs/decisions/0011.
 */
export function commonReviewers(
  panels: readonly (readonly Reviewer[])[],
  known: ReadonlyMap<string, KnownReviewer>,
): Reviewer[] {
  const named = panels.filter((panel) => panel.length > 0);
  const everybody = unique(named.flat());
  const fitting = everybody.filter((reviewer) =>
    named.every((panel) => panel.some((member) => doesFor(reviewer, member, known))),
  );
  return fitting.length > 0 ? fitting : everybody;
}

/** The ids of whom `commonReviewers` would have to know more; none where all panels name the same, or roles only. */
export function reviewersToKnow(panels: readonly (readonly Reviewer[])[]): string[] {
  const named = panels.filter((panel) => panel.length > 0);
  if (new Set(named.map((panel) => JSON.stringify(unique(panel)))).size < 2) return [];
  return unique(named.flat())
    .filter(({ type }) => type === "user")
    .map(({ id }) => id);
}

/** How many people can approve at most; null: a role may, and anybody where nobody is named. */
export function peopleNamed(reviewers: readonly Reviewer[]): number | null {
  if (reviewers.length === 0 || reviewers.some(({ type }) => type === "role")) return null;
  return new Set(reviewers.map(({ id }) => id)).size;
}

/** Reads `role:operator` or `user:usr_…`. */
export function reviewerOf(text: string): Reviewer {
  const colon = text.indexOf(":");
  return { type: text.slice(0, colon) === "user" ? "user" : "role", id: text.slice(colon + 1) };
}

/** Whether whoever decides as `reviewer` is `member`, too, or has its role or one that includes it. */
function doesFor(reviewer: Reviewer, member: Reviewer, known: ReadonlyMap<string, KnownReviewer>): boolean {
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
