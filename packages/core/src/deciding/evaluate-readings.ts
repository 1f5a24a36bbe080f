import type { Cause } from "@countersign/cel";
import { limits } from "@countersign/contract";
import type { Ancestor } from "../facts/merge.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { type Bound, type ViewsByProfile, viewsOfContent } from "./bind-facts.ts";
import { type Classified, classify } from "./classify.ts";
import type { Content, DecideInput } from "./decision.ts";
import {
  type Evaluated,
  type Evaluation,
  evaluatePolicies,
  mergeCauses,
  obstructed,
  plainVote,
  type Vote,
} from "./evaluate.ts";
import { type LookAlike, lookAlikesOf, readingsOf } from "./look-alikes.ts";
import type { PolicyGroup } from "./policy-set.ts";

/** Stage 3: evaluates the live policies on the action and on other readings of its names. */
export function evaluate(record: Bound): Evaluated {
  const { input, action, viewsFor } = record;
  const evaluation = evaluateReadings(record, input.policySet.live, action.look_alikes, action.content, viewsFor);
  return { input, action, viewsFor, evaluation };
}

const none: readonly never[] = Object.freeze([]);

/**
 * Evaluates a group of policies. A sub-agent's action is also evaluated as each agent above it, with that agent's
 * facts. The strictest vote of each policy counts. For `suppressed` see `evaluatePolicies`.
 */
export function evaluateReadings(
  record: Classified,
  group: PolicyGroup,
  look_alikes: readonly LookAlike[],
  content: Content | null,
  viewsFor: ViewsByProfile,
  suppressed: readonly number[] = none,
): Evaluation {
  const own = evaluateNames(record, group, look_alikes, content, viewsFor, suppressed);
  const { ancestors } = record.input.facts;
  if (ancestors === undefined) return own;
  const budget = record.input.budget ?? { left: record.input.cost_budget ?? limits.policy_cost_budget };
  const merged = mergedEvaluation(own);
  for (const ancestor of ancestors) {
    const above = classify({ ...asAncestor(record.input, ancestor), budget });
    const views = viewsOfContent(above, content);
    const { names } = above.action.prepared;
    const known = group === record.input.policySet.shadow ? names.shadow : names.live;
    const other = evaluateNames(above, group, lookAlikesOf(above.input.intent, known), content, views, suppressed);
    merged.addRead(other);
    merged.keepSuppressing(other.votes);
    for (const vote of other.votes) {
      const written = merged.votes.get(vote.placed);
      merged.votes.set(vote.placed, strictestVote(written, { ...vote, ancestor: vote.ancestor ?? ancestor.id }));
    }
  }
  return merged.evaluation();
}

export function asAncestor(input: DecideInput, { id, facts }: Pick<Ancestor, "id" | "facts">): DecideInput {
  const { parent: _, ...agent } = input.intent.agent;
  const all = input.facts.ancestors ?? none;
  const above = all.slice(all.findIndex((each) => each.id === id) + 1);
  const intent = { ...input.intent, agent: { ...agent, id } };
  return { ...input, facts: above.length === 0 ? facts : { ...facts, ancestors: above }, intent };
}

/** Returns the stricter vote with the higher risk. Different changes become the fallback effect. */
function strictestVote(own: Vote | undefined, above: Vote): Vote {
  if (own === undefined) return { ...above, suppresses: none };
  const risk = Math.max(own.risk, above.risk);
  const suppresses = above.suppresses.length > 0 ? own.suppresses : none;
  const both_change = own.effect === "approve_modified" && above.effect === "approve_modified";
  if (both_change && !hasChangesOf(own, above))
    return {
      ...obstructed(own, `it changes the action differently for the agent ${above.ancestor}`),
      risk,
      suppresses,
    };
  if (strictness[above.effect] <= strictness[own.effect]) return { ...own, risk, suppresses };
  const changes = above.changes.length > 0 ? above.changes : own.placed.policy.redactions;
  return { ...above, changes: own.changes.length > 0 ? changes : above.changes, risk, suppresses };
}

function mergedEvaluation({ group, candidates, read: of_own, votes: own }: Evaluation) {
  const read = new Map(candidates.map((place, at) => [place, of_own[at] as number]));
  const votes = new Map(own.map((vote) => [vote.placed, vote]));
  return {
    votes,
    addRead(other: Evaluation): void {
      other.candidates.forEach((place, at) => {
        read.set(place, Math.max(read.get(place) ?? 0, other.read[at] as number));
      });
    },
    /** A policy suppresses others only if it fires on every reading. */
    keepSuppressing(others: readonly Vote[]): void {
      const suppressing = new Set(others.filter(({ suppresses }) => suppresses.length > 0).map(({ placed }) => placed));
      for (const [placed, vote] of votes)
        if (vote.suppresses.length > 0 && !suppressing.has(placed)) votes.set(placed, { ...vote, suppresses: none });
    },
    evaluation(): Evaluation {
      const places = [...read.keys()].sort((a, b) => a - b);
      return {
        group,
        candidates: places,
        read: Uint8Array.from(places, (place) => read.get(place) as number),
        votes: [...votes.values()].sort((a, b) => a.placed.place - b.placed.place),
      };
    },
  };
}

/** A policy that is stricter on a look-alike reading becomes unknown (`mergedVote`). */
function evaluateNames(
  record: Classified,
  group: PolicyGroup,
  look_alikes: readonly LookAlike[],
  content: Content | null,
  viewsFor: ViewsByProfile,
  suppressed: readonly number[] = none,
): Evaluation {
  const { input, action } = record;
  const { now_us } = input;
  const written = evaluatePolicies(group, group.candidates(action.key), viewsFor, now_us, suppressed);
  if (look_alikes.length === 0) return written;
  // All readings share one budget, because the caller controls their number.
  const budget = { left: input.cost_budget ?? limits.policy_cost_budget };
  const merged = mergedEvaluation(written);
  for (const { intent, causes } of readingsOf(input.intent, look_alikes) ?? none) {
    const reading = classify({ ...input, intent, budget: input.budget ?? budget });
    const views = viewsOfContent(reading, content);
    const other = evaluatePolicies(group, group.candidates(reading.action.key), views, now_us, suppressed);
    merged.addRead(other);
    merged.keepSuppressing(other.votes);
    for (const vote of other.votes)
      merged.votes.set(vote.placed, mergedVote(merged.votes.get(vote.placed), vote, causes));
  }
  return merged.evaluation();
}

/**
 * Merges the votes of one policy on two readings. The vote on the `written` action stays unless the other is stricter.
 * Then the policy is unknown and its full risk counts.
 */
function mergedVote(written: Vote | undefined, other: Vote, causes: readonly Cause[]): Vote {
  const unknown = unknownVote(other, causes);
  if (written === undefined) return unknown;
  const risk = Math.max(written.risk, other.risk);
  const changes = written.effect === "approve_modified";
  const differs = changes && other.effect === "approve_modified" && !hasChangesOf(written, other);
  const is_stricter = strictness[other.effect] > strictness[written.effect];
  if (changes && (differs || is_stricter)) {
    const unknowns = mergeCauses(written.unknowns, causes);
    return {
      ...obstructed(written, "the action has a name that looks like another name"),
      risk,
      unknowns,
      suppresses: none,
    };
  }
  if (is_stricter && strictness[unknown.effect] > strictness[written.effect]) return { ...unknown, risk };
  return risk > written.risk ? { ...written, risk, missing: mergeCauses(written.missing, causes) } : written;
}

function hasChangesOf({ changes }: Vote, other: Vote): boolean {
  return canonicalJson(changes) === canonicalJson(other.changes);
}

const strictness: Readonly<Record<Vote["effect"], number>> = { none: 0, approve_modified: 1, escalate: 2, block: 3 };

/**
 * Handles a policy that votes only on another reading. A look-alike must not pass what stops the known name, so `skip`
 * escalates. So does a missing `on_unknown`, unless the policy blocks the known name. The full risk counts.
 */
function unknownVote(other: Vote, causes: readonly Cause[]): Vote {
  const { placed, effect, risk } = other;
  const { on_unknown, document } = placed.policy;
  const unknowns = mergeCauses(other.unknowns, causes);
  if (on_unknown === "fire") return { ...other, unknowns, suppresses: none };
  if (on_unknown === "skip") return plainVote(placed, unknowns, effect === "none" ? "none" : "escalate", risk);
  const blocks = document.spec.on_unknown === undefined && effect === "block";
  return plainVote(placed, unknowns, blocks ? "block" : on_unknown, risk);
}
