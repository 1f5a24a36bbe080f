import { hiddenTexts, type Modification } from "@countersign/contract";
import type { Change } from "../policy/compile.ts";
import { holdsAnyText } from "../values/redacted-texts.ts";
import type { Content } from "./decision.ts";
import { type Evaluated, obstructed, type Vote } from "./evaluate.ts";
import { type Conflict, holds_redacted, mergeChanges, redactContent } from "./merge-changes.ts";

export interface Plan {
  /** Votes after conflicts, some with their fallback effect. */
  readonly votes: readonly Vote[];
  readonly modifications: Modification[];
  /** payload.content after the patch. */
  readonly content: Content | null;
}

export interface Planned extends Evaluated {
  /** The next stage may add redactions. */
  readonly draft: Plan;
}

/** Stage 4: plans the changes that the votes ask for. */
export function planChanges(record: Evaluated): Planned {
  const { input, action, viewsFor, evaluation } = record;
  return { input, action, viewsFor, evaluation, draft: planOf(evaluation.votes, action.content) };
}

const none: readonly never[] = Object.freeze([]);

/**
 * Plans the changes of these votes, then `late_redactions`, which come from votes on the modified action. No vote may
 * write a value that holds a redacted text, even one redacted late.
 */
export function planOf(
  votes: readonly Vote[],
  content: Content | null,
  late_redactions: readonly Change[] = none,
): Plan {
  const plan = planVotes(votes, content, late_redactions);
  if (late_redactions.length === 0) return plan;
  const redacted = redactContent(plan.content ?? {}, late_redactions);
  const texts = hiddenTexts(plan.content, redacted.content);
  const clean = plan.votes.map((vote) => withoutLeak(vote, texts));
  // Terminates, because each recursion has fewer votes that write.
  if (clean.some((vote, i) => vote !== plan.votes[i])) return planOf(clean, content, late_redactions);
  const modifications = [...plan.modifications, ...(redacted.operations as Modification[])];
  return { votes: plan.votes, modifications, content: redacted.content };
}

/** Uses the fallback effect if the vote writes one of these texts. */
function withoutLeak(vote: Vote, texts: readonly string[]): Vote {
  if (vote.effect !== "approve_modified") return vote;
  const leak = vote.changes.find(({ value }) => value !== undefined && holdsAnyText(value, texts));
  return leak === undefined ? vote : obstructed(vote, `${leak.path}: ${holds_redacted}`);
}

/** Checks values against `late_redactions` without applying them. */
function planVotes(votes: readonly Vote[], content: Content | null, late_redactions: readonly Change[]): Plan {
  if (!votes.some(({ changes }) => changes.length > 0)) return { votes, modifications: [], content };
  const changes = votes.flatMap((vote) => vote.changes);
  const redactions = [...votes.flatMap(({ placed }) => placed.policy.redactions), ...late_redactions];
  const merged = mergeChanges(content ?? {}, changes, redactions);
  // Terminates, because only writes conflict and each recursion has fewer of them.
  if (merged.kind === "conflict") return planVotes(afterConflicts(votes, merged.conflicts), content, late_redactions);
  if (merged.operations.length > 0) {
    return { votes, modifications: merged.operations as Modification[], content: merged.content };
  }
  // No change is needed, for example because the amount is below the cap.
  const settled = votes.map((vote): Vote => (vote.effect === "approve_modified" ? { ...vote, effect: "none" } : vote));
  return { votes: settled, modifications: [], content };
}

function afterConflicts(votes: readonly Vote[], conflicts: readonly Conflict[]): Vote[] {
  const obstacles = new Map<string, string>();
  for (const { path, message, policies } of conflicts) {
    for (const name of policies) if (!obstacles.has(name)) obstacles.set(name, `${path}: ${message}`);
  }
  return votes.map((vote) => {
    const obstacle = vote.effect === "approve_modified" ? obstacles.get(vote.placed.policy.name) : undefined;
    return obstacle === undefined ? vote : obstructed(vote, obstacle);
  });
}
