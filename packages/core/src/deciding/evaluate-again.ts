import type { Change } from "../policy/compile.ts";
import { coversPlace } from "../values/place-pattern.ts";
import { type ViewsByProfile, viewsOfContent } from "./bind-facts.ts";
import type { Content } from "./decision.ts";
import { type Evaluation, isOverridden, obstructed, type Vote } from "./evaluate.ts";
import { evaluateReadings } from "./evaluate-readings.ts";
import { mergeChanges } from "./merge-changes.ts";
import { type Plan, type Planned, planOf } from "./plan-changes.ts";
import type { PlacedPolicy } from "./policy-set.ts";

interface ModifiedAction {
  /** The draft plus the redactions of objections. */
  readonly plan: Plan;
  readonly reevaluation: Reevaluation | null;
  readonly objections: readonly Vote[];
}

interface Reevaluation extends Evaluation {
  readonly viewsFor: ViewsByProfile;
}

export interface Reevaluated extends Planned {
  readonly modified: ModifiedAction;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Stage 5: evaluates the modified action, even if escalated or blocked: reviewers or an override may let it through.
 */
export function evaluateAgain(record: Planned): Reevaluated {
  const { input, action, viewsFor, evaluation, draft } = record;
  const unmodified = draft.modifications.length === 0;
  const modified = unmodified ? { plan: draft, reevaluation: null, objections: none } : settleObjections(record);
  return { input, action, viewsFor, evaluation, draft, modified };
}

/** Adds the redactions of objections until none is new. */
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
    // Terminates, because each policy adds redactions at most once.
    if (added.length === 0) return { plan, reevaluation, objections };
    late_redactions.push(...added);
    plan = planOf(record.evaluation.votes, record.action.content, late_redactions);
    reevaluation = evaluateModified(record, plan);
  }
}

/**
 * Policies suppressed by a changing policy stay suppressed, because the change may remove the condition on which it
 * fired.
 */
function evaluateModified(record: Planned, plan: Plan): Reevaluation {
  const viewsFor = viewsOfContent(record, plan.content);
  const suppressed = plan.votes.flatMap(({ changes, suppresses }) => (changes.length > 0 ? suppresses : none));
  const { group } = record.evaluation;
  const { look_alikes } = record.action;
  return { viewsFor, ...evaluateReadings(record, group, look_alikes, plan.content, viewsFor, suppressed) };
}

/**
 * Returns the objections: votes that ask for a further change, or stop the action without an override. An effect
 * already in `earlier` is not repeated, unless it adds redactions.
 *
 * Changes are computed from the submitted content, so further writes are not planned: the vote takes its fallback
 * effect. Its redactions still apply.
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
        ? obstructed(vote, "only the modified action asks for it")
        : vote;
    const stops = objection.effect === "block" || objection.effect === "escalate";
    if (!asks_change && (!stops || isOverridden(objection, action.overrides))) return [];
    const adds_redactions = asks_change && !is_planned && objection.changes.length > 0;
    const is_known = earlier.some(({ placed, effect }) => placed === vote.placed && effect === objection.effect);
    return is_known && !adds_redactions ? [] : [objection];
  });
}

/** True if the plan contains this policy's redactions. */
function isPlanned(votes: readonly Vote[], placed: PlacedPolicy): boolean {
  return votes.some((vote) => vote.placed === placed && vote.changes.length > 0);
}

/** True if these changes would alter the content or conflict. */
function isNeeded(content: Content | null, changes: readonly Change[]): boolean {
  if (changes.length === 0) return false;
  const merged = mergeChanges(content ?? {}, changes);
  return merged.kind === "conflict" || merged.operations.length > 0;
}

/**
 * True if the modified content breaks a cap or floor that the submitted content met. Bounds on redacted values do not
 * count, unless another list entry moved there.
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
