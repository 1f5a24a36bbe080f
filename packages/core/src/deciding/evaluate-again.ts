import type { Change } from "../policy/compile.ts";
import { type ViewsByProfile, viewsOf } from "./bind-facts.ts";
import type { Content } from "./decision.ts";
import { type Evaluation, evaluatePolicies, isOverridden, obstructed, type Vote } from "./evaluate.ts";
import { mergeChanges } from "./merge-changes.ts";
import { type Plan, type Planned, planOf } from "./plan-changes.ts";
import type { PlacedPolicy } from "./policy-set.ts";

/** The action with the changes of the plan. */
interface ModifiedAction {
  /** The draft, with the redactions that objections add. */
  readonly plan: Plan;
  /** The evaluation of the modified action; null if nothing is modified. */
  readonly again: ModifiedEvaluation | null;
  /** Votes against the modified action that the submitted action did not get. */
  readonly objections: readonly Vote[];
}

/** The record after `evaluateAgain`. */
export interface Reevaluated extends Planned {
  readonly modified: ModifiedAction;
}

interface ModifiedEvaluation {
  readonly views: ViewsByProfile;
  readonly evaluation: Evaluation;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Stage 5: evaluates the modified action. A plan without modifications needs no second evaluation. An escalation does, because
 * reviewers approve the modified action. A block does, because an override lets the modified action through.
 */
export function evaluateAgain(record: Planned): Reevaluated {
  const { input, action, views, evaluation, draft } = record;
  const modified = draft.modifications.length > 0 ? modify(record) : { plan: draft, again: null, objections: none };
  return { input, action, views, evaluation, draft, modified };
}

/** Evaluates the modified action until its objections add no further redactions to the plan. */
function modify(record: Planned): ModifiedAction {
  let plan = record.draft;
  let again = evaluateModified(record, plan);
  const objections: Vote[] = [];
  const redactions: Change[] = [];
  for (;;) {
    const earlier = [...plan.votes, ...objections];
    const found = objectionsTo(plan, again.evaluation.votes, earlier, record);
    objections.push(...found);
    const added = found.flatMap((vote) => (isPlanned(earlier, vote.placed) ? none : vote.changes));
    // The loop ends, because each policy adds its redactions at most once.
    if (added.length === 0) break;
    redactions.push(...added);
    plan = planOf(record.evaluation.votes, record.action.content, redactions);
    again = evaluateModified(record, plan);
  }
  return { plan, again, objections };
}

/**
 * Evaluates the same policies on the planned content. Policies that a vote with changes suppresses stay suppressed: the change
 * may remove the reason for which that policy fired, and then it would not suppress them again.
 */
function evaluateModified(record: Planned, plan: Plan): ModifiedEvaluation {
  const { input, evaluation } = record;
  const views = viewsOf(record, plan.content);
  const suppressed = plan.votes.flatMap(({ changes, suppresses }) => (changes.length > 0 ? suppresses : none));
  const { group, candidates } = evaluation;
  return { views, evaluation: evaluatePolicies(group, candidates, views, input.now_us, suppressed) };
}

/**
 * Returns the votes on the modified action that are new: blocks, escalations, and requests for further changes. Further
 * changes are not made, because changes are computed from the submitted content. Such a vote has its fallback effect, as in a
 * conflict. Its redactions are made nevertheless, also under an override.
 */
function objectionsTo(
  { content }: Plan,
  votes: readonly Vote[],
  earlier: readonly Vote[],
  { draft, action }: Planned,
): Vote[] {
  const redactions = earlier.flatMap(({ changes, placed }) => (changes.length > 0 ? placed.policy.redactions : none));
  return votes.flatMap((vote) => {
    const planned = isPlanned(earlier, vote.placed);
    const asks = planned
      ? breaksBound(vote, content, redactions, draft.votes, action.content)
      : isNeeded(content, vote.changes);
    const objection =
      asks && vote.effect === "approve_modified"
        ? obstructed(vote, "the action asks for it only as others modify it")
        : vote;
    const stops = objection.effect === "block" || objection.effect === "escalate";
    if (!asks && (!stops || isOverridden(objection, action.overrides))) return [];
    const redacts_more = asks && !planned && objection.changes.length > 0;
    const is_known = earlier.some(({ placed, effect }) => placed === vote.placed && effect === objection.effect);
    return is_known && !redacts_more ? [] : [objection];
  });
}

/** Whether the plan makes changes of this policy, or at least its redactions. */
function isPlanned(votes: readonly Vote[], placed: PlacedPolicy): boolean {
  return votes.some((vote) => vote.placed === placed && vote.changes.length > 0);
}

/** Whether these changes would change the content, or conflict with each other. */
function isNeeded(content: Content | null, changes: readonly Change[]): boolean {
  if (changes.length === 0) return false;
  const merged = mergeChanges(content ?? {}, changes);
  return merged.kind === "conflict" || merged.operations.length > 0;
}

/**
 * Whether the modified content exceeds a cap or floor of this policy that the submitted content kept. A bound on a redacted
 * value does not count, unless another list entry moved to the place of the value.
 */
function breaksBound(
  { placed, changes }: Vote,
  content: Content | null,
  redactions: readonly Change[],
  draft_votes: readonly Vote[],
  submitted: Content | null,
): boolean {
  const isGone = (path: string): boolean =>
    redactions.some((redaction) => `${path}/`.startsWith(`${redaction.path}/`) && !isNeeded(content, [redaction]));
  return changes.some((bound) => {
    if ((bound.op !== "cap" && bound.op !== "floor") || !isNeeded(content, [bound]) || isGone(bound.path)) return false;
    const asked = draft_votes.flatMap((vote) => (vote.placed === placed ? vote.changes : none));
    const same = asked.filter(({ op, path }) => op === bound.op && path === bound.path);
    return same.length > 0 && !isNeeded(submitted, same);
  });
}
