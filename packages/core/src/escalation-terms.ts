import type { Reviewer } from "@countersign/contract";
import type { EscalationTerms, MembraneSettings } from "./decision.ts";
import type { EscalationSettings } from "./policy/document.ts";
import { parseDurationSeconds } from "./time.ts";

/** Roles by what they may do: each includes the ones before it. Source: api.md §3. */
const roleRanks = ["reviewer", "operator", "admin"];

/**
 * The terms of an escalation that several policies ask for: the largest quorum, the shortest time limit, approval on
 * time-out only where the membrane allows it and no policy forbids it, and only reviewers who would do for every one of
 * the policies (when nobody is left so, everybody named). A policy takes what it leaves out from the membrane.
 * Source: policies.md §2; api.md §6.
 */
export function mergeTerms(
  membrane: MembraneSettings["escalation"],
  asked: readonly EscalationSettings[],
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
  return { reviewers: common(panels), quorum, timeout_seconds, on_timeout };
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

function common(panels: readonly (readonly Reviewer[])[]): Reviewer[] {
  const named = panels.filter((panel) => panel.length > 0);
  const everybody = unique(named.flat());
  const fitting = everybody.filter((reviewer) =>
    named.every((panel) => panel.some((member) => doesFor(reviewer, member))),
  );
  return fitting.length > 0 ? fitting : everybody;
}

/** Whether the reviewer is the member asked for, or has a role that includes the member's. */
function doesFor(reviewer: Reviewer, member: Reviewer): boolean {
  if (reviewer.type !== member.type) return false;
  if (reviewer.id === member.id) return true;
  return (
    reviewer.type === "role" &&
    roleRanks.indexOf(reviewer.id) > roleRanks.indexOf(member.id) &&
    roleRanks.includes(member.id)
  );
}

function unique(reviewers: readonly Reviewer[]): Reviewer[] {
  const byKey = new Map(reviewers.map((reviewer) => [`${reviewer.type}:${reviewer.id}`, reviewer]));
  return [...byKey.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, reviewer]) => ({ type: reviewer.type, id: reviewer.id }));
}
