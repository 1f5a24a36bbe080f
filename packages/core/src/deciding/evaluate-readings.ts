import type { Cause } from "@countersign/cel";
import { limits } from "@countersign/contract";
import { canonicalJson } from "../values/canonical-json.ts";
import { type Bound, type ViewsByProfile, viewsOfContent } from "./bind-facts.ts";
import { type Classified, classify } from "./classify.ts";
import type { Content } from "./decision.ts";
import {
  type Evaluated,
  type Evaluation,
  evaluatePolicies,
  mergeCauses,
  obstructed,
  plainVote,
  type Vote,
} from "./evaluate.ts";
import { type LookAlike, readingsOf } from "./look-alikes.ts";
import type { PlacedPolicy, PolicyGroup } from "./policy-set.ts";

/** Stage 3: evaluates the live policies that match the submitted action, or another reading of its names. */
export function evaluate(record: Bound): Evaluated {
  const { input, action, viewsFor } = record;
  const evaluation = evaluateReadings(record, input.policySet.live, action.look_alikes, action.content, viewsFor);
  return { input, action, viewsFor, evaluation };
}

const none: readonly never[] = Object.freeze([]);

/**
 * Evaluates a group of policies on this content of the action; `viewsFor` are its views. If names of the action look like known
 * ones, a policy that says something stricter on another reading is unknown (`mergedVote`). For `suppressed` see `evaluatePolicies`.
 */
export function evaluateReadings(
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
  // All readings share one budget, because their number depends on the caller.
  const budget = { left: input.cost_budget ?? limits.policy_cost_budget };
  const read = new Map(written.candidates.map((place, at) => [place, written.read[at] as number]));
  const votes = new Map(written.votes.map((vote) => [vote.placed, vote]));
  for (const { intent, causes } of readingsOf(input.intent, look_alikes) ?? none) {
    const reading = classify({ ...input, intent, budget: input.budget ?? budget });
    const views = viewsOfContent(reading, content);
    const other = evaluatePolicies(group, group.candidates(reading.action.key), views, now_us, suppressed);
    other.candidates.forEach((place, at) => {
      read.set(place, Math.max(read.get(place) ?? 0, other.read[at] as number));
    });
    mergeVotes(votes, other.votes, causes);
  }
  const candidates = [...read.keys()].sort((a, b) => a - b);
  return {
    group,
    candidates,
    read: Uint8Array.from(candidates, (place) => read.get(place) as number),
    votes: [...votes.values()].sort((a, b) => a.placed.place - b.placed.place),
  };
}

/** Merges the votes on one reading into those on the action as it is written. */
function mergeVotes(votes: Map<PlacedPolicy, Vote>, others: readonly Vote[], causes: readonly Cause[]): void {
  const suppressing = new Set(others.filter(({ suppresses }) => suppresses.length > 0).map(({ placed }) => placed));
  // A policy suppresses others only if it fires on every reading.
  for (const [placed, vote] of votes)
    if (vote.suppresses.length > 0 && !suppressing.has(placed)) votes.set(placed, { ...vote, suppresses: none });
  for (const other of others) votes.set(other.placed, mergedVote(votes.get(other.placed), other, causes));
}

/**
 * Returns the vote of a policy that votes `written` on the action as it is written, and `other` on another reading. The vote is the
 * written one, unless the other one is stricter. Then the policy is unknown, and its whole risk counts.
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
    return { ...obstructed(written, "its name may be another one"), risk, unknowns, suppresses: none };
  }
  if (is_stricter && strictness[unknown.effect] > strictness[written.effect]) return { ...unknown, risk };
  return risk > written.risk ? { ...written, risk, missing: mergeCauses(written.missing, causes) } : written;
}

function hasChangesOf({ changes }: Vote, other: Vote): boolean {
  return canonicalJson(changes) === canonicalJson(other.changes);
}

const strictness: Readonly<Record<Vote["effect"], number>> = { none: 0, approve_modified: 1, escalate: 2, block: 3 };

/**
 * Returns the vote of a policy that votes only on another reading. `on_unknown` says what it does. If the document leaves that out,
 * the policy does what it does to the known name, and holds the action at least. `skip` holds it, too, and the whole risk counts: a
 * look-alike must not pass what stops the known name.
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
