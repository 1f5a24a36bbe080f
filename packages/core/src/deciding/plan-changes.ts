import { hiddenTexts, type Modification } from "@countersign/contract";
import type { Change } from "../policy/compile.ts";
import { holdsAnyText } from "../values/redacted-texts.ts";
import type { Content } from "./decision.ts";
import { type Evaluated, obstructed, type Vote } from "./evaluate.ts";
import { holds_redacted, mergeChanges, redactContent } from "./merge-changes.ts";

/** The changes that are made. */
export interface Plan {
  /** The votes after conflicts: a vote with changes that cannot be made has its fallback effect. */
  readonly votes: readonly Vote[];
  /** All changes as one JSON patch. */
  readonly modifications: Modification[];
  /** payload.content after the patch. */
  readonly content: Content | null;
}

/** The record after `planChanges`. */
export interface Planned extends Evaluated {
  /** The changes that the votes on the submitted action ask for. */
  readonly draft: Plan;
}

/** Stage 4: plans the changes that the votes ask for. */
export function planChanges(record: Evaluated): Planned {
  const { input, action, views, evaluation } = record;
  return { input, action, views, evaluation, draft: planOf(evaluation.votes, action.content) };
}

const none: readonly never[] = Object.freeze([]);

/**
 * Plans what these votes ask for, and `more` redactions after that. No written value may hold a redacted text, also if the
 * redaction was added after the value was written.
 */
export function planOf(votes: readonly Vote[], content: Content | null, more: readonly Change[] = none): Plan {
  const plan = planOfVotes(votes, content, more);
  if (more.length === 0) return plan;
  const redacted = redactContent(plan.content ?? {}, more);
  const texts = hiddenTexts(plan.content, redacted.content);
  let leaks = false;
  const kept = plan.votes.map((vote) => {
    const written = vote.effect === "approve_modified" ? vote.changes : none;
    const leak = written.find(({ value }) => value !== undefined && holdsAnyText(value, texts));
    leaks ||= leak !== undefined;
    return leak === undefined ? vote : obstructed(vote, `${leak.path}: ${holds_redacted}`);
  });
  // The recursion ends, because each time fewer votes write a value.
  if (leaks) return planOf(kept, content, more);
  const modifications = [...plan.modifications, ...(redacted.operations as Modification[])];
  return { votes: plan.votes, modifications, content: redacted.content };
}

function planOfVotes(votes: readonly Vote[], content: Content | null, more: readonly Change[]): Plan {
  if (!votes.some(({ changes }) => changes.length > 0)) return { votes, modifications: [], content };
  const changes = votes.flatMap((vote) => vote.changes);
  const redactions = [...votes.flatMap(({ placed }) => placed.policy.redactions), ...more];
  const merged = mergeChanges(content ?? {}, changes, redactions);
  if (merged.kind === "conflict") {
    const obstacles = new Map<string, string>();
    for (const { path, message, policies } of merged.conflicts) {
      for (const name of policies) if (!obstacles.has(name)) obstacles.set(name, `${path}: ${message}`);
    }
    const rest = votes.map((vote) => {
      const obstacle = vote.effect === "approve_modified" ? obstacles.get(vote.placed.policy.name) : undefined;
      return obstacle === undefined ? vote : obstructed(vote, obstacle);
    });
    // The recursion ends, because only written values conflict, and each time fewer votes write one.
    return planOfVotes(rest, content, more);
  }
  if (merged.operations.length > 0) {
    return { votes, modifications: merged.operations as Modification[], content: merged.content };
  }
  // No change is needed, for example because the amount is below the cap. The votes for changes then have no effect.
  const settled = votes.map((vote): Vote => (vote.effect === "approve_modified" ? { ...vote, effect: "none" } : vote));
  return { votes: settled, modifications: [], content };
}
