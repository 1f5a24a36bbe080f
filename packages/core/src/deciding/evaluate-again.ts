import type { Change } from "../policy/compile.ts";
import { coversPlace } from "../values/place-pattern.ts";
import { type ViewsByProfile, viewsOfContent } from "./bind-facts.ts";
import type { Content } from "./decision.ts";
import { type Evaluation, isOverridden, obstructed, type Vote } from "./evaluate.ts";
import { evaluateReadings } from "./evaluate-readings.ts";
import { mergeChanges } from "./merge-changes.ts";
import { type Plan, type Planned, planOf } from "./plan-changes.ts";
import type { PlacedPolicy } from "./policy-set.ts";

/** The action with the changes of the plan. */
interface ModifiedAction {
  /** The draft, with the redactions that objections add. */
  readonly plan: Plan;
  /** Null if the draft modifies nothing. */
  readonly reevaluation: Reevaluation | null;
  readonly objections: readonly Vote[];
}

/** The evaluation of the modified action. */
interface Reevaluation extends Evaluation {
  /** Views of the modified action. */
  readonly viewsFor: ViewsByProfile;
}

/** The record after `evaluateAgain`. */
export interface Reevaluated extends Planned {
  readonly modified: ModifiedAction;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Stage 5: evaluates the modified action. A plan without modifications needs no second evaluation. A plan of an escalated action
 * needs one, because reviewers approve the modified action. So does a plan of a blocked action, because an override lets the
 * modified action through.
 */
export function evaluateAgain(record: Planned): Reevaluated {
  const { input, action, viewsFor, evaluation, draft } = record;
  const unmodified = draft.modifications.length === 0;
  const modified = unmodified ? { plan: draft, reevaluation: null, objections: none } : settleObjections(record);
  return { input, action, viewsFor, evaluation, draft, modified };
}

/** Evaluates the modified action, adds the redactions of its objections to the plan, and repeats both until none is new. */
function settleObjections(record: Planned): ModifiedAction {
  let plan = record.draft;
  let reevaluation = evaluateModified(record, plan);
  const objections: Vote[] = [];
  const late_redactions: Change[] = [];
  for (;;) {
    const earlier = [...plan.votes, ...objections];
    const found = objectionsTo(plan, reevaluation.votes, earlier, record);
    objections.push(...found);
    const added = found.flatMap((vote) => (isPlanned(earlier, vote.placed) ? none : vote.changes));
    // The loop ends, because each policy adds its redactions at most once.
    if (added.length === 0) return { plan, reevaluation, objections };
    late_redactions.push(...added);
    plan = planOf(record.evaluation.votes, record.action.content, late_redactions);
    reevaluation = evaluateModified(record, plan);
  }
}

/**
 * Evaluates the same policies on the planned content. A policy may suppress others and also change the action. Those others stay
 * suppressed, because the change may remove the reason why the policy fired.
 */
function evaluateModified(record: Planned, plan: Plan): Reevaluation {
  const viewsFor = viewsOfContent(record, plan.content);
  const suppressed = plan.votes.flatMap(({ changes, suppresses }) => (changes.length > 0 ? suppresses : none));
  const { group } = record.evaluation;
  const { look_alikes } = record.action;
  return { viewsFor, ...evaluateReadings(record, group, look_alikes, plan.content, viewsFor, suppressed) };
}

/**
 * Returns the objections among the votes on the modified action. A vote is an objection if it asks for a further change, or
 * stops the action and no override cancels it. An effect that this policy had in `earlier` is no objection again, unless the
 * vote adds redactions.
 *
 * The plan takes no further writes, because changes are computed from the submitted content. A vote that asks for one has its
 * fallback effect. Its redactions are made, also under an override.
 */
function objectionsTo(
  { content }: Plan,
  votes: readonly Vote[],
  earlier: readonly Vote[],
  { draft, action }: Planned,
): Vote[] {
  const redactions = earlier.flatMap(({ changes, placed }) => (changes.length > 0 ? placed.policy.redactions : none));
  return votes.flatMap((vote) => {
    const is_planned = isPlanned(earlier, vote.placed);
    const asks_change = is_planned
      ? breaksBound(vote, content, redactions, draft.votes, action.content)
      : isNeeded(content, vote.changes);
    const objection =
      asks_change && vote.effect === "approve_modified"
        ? obstructed(vote, "the action asks for it only as others modify it")
        : vote;
    const stops = objection.effect === "block" || objection.effect === "escalate";
    if (!asks_change && (!stops || isOverridden(objection, action.overrides))) return [];
    const adds_redactions = asks_change && !is_planned && objection.changes.length > 0;
    const is_known = earlier.some(({ placed, effect }) => placed === vote.placed && effect === objection.effect);
    return is_known && !adds_redactions ? [] : [objection];
  });
}

/** Whether one of these votes by this policy has changes, so that the plan contains its redactions. */
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
 * Whether the modified content breaks a cap or floor of this vote's policy that the submitted content kept. A bound on a
 * redacted value does not count. It counts if a list entry was removed and another one moved to its place.
 */
function breaksBound(
  { placed, changes }: Vote,
  content: Content | null,
  redactions: readonly Change[],
  draft_votes: readonly Vote[],
  submitted: Content | null,
): boolean {
  const isRedacted = (path: string): boolean =>
    redactions.some((redaction) => coversPlace(redaction.path, path) && !isNeeded(content, [redaction]));
  const drafted = draft_votes.flatMap((vote) => (vote.placed === placed ? vote.changes : none));
  return changes.some((bound) => {
    if (bound.op !== "cap" && bound.op !== "floor") return false;
    if (!isNeeded(content, [bound]) || isRedacted(bound.path)) return false;
    const kept = drafted.filter(({ op, path }) => op === bound.op && path === bound.path);
    return kept.length > 0 && !isNeeded(submitted, kept);
  });
}
