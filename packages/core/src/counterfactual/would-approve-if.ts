import type { ApprovalChange, Reason } from "@countersign/contract";
import { type Decided, type DecideInput, goesThrough, risk_threshold_name } from "../deciding/decision.ts";
import { judge } from "../deciding/judge.ts";
import type { PlacedPolicy } from "../deciding/policy-set.ts";
import { attestedContent, scenesOf } from "../deciding/scene.ts";
import { freshUntilUs } from "../facts/staleness.ts";
import { decidedAction } from "../policy/action.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import type { Scene } from "../policy/evaluate.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { nothing, valueAt } from "../values/json-patch.ts";
import { applyChanges, type ChangePlace, copiedFor, standsAt, textOf } from "./change.ts";
import { type ChangeSet, remediesOf, type Situation, smallestFirst, together } from "./remedies.ts";

/** How often one answer may be decided again. */
const decisions_max = 24;

/** Units of evaluation that one answer may take besides its own. */
const cost_budget = 50_000;

/**
 * The smallest set of changes found under which this action would have been approved: each verified by deciding again,
 * and none of its proper subsets would do. Null for an approval; where the way is barred by the membrane's default or
 * by a policy that withholds it (`explain: false`); and where none of at most three changes was found within the budget.
 * Deterministic: the same input gives the same answer. Only parameters and facts are ever changed; what an agent may not
 * claim for itself, and what policies hide, never. Source: policies.md §2 "explain"; docs/decisions/0014.
 */
export function wouldApproveIf(input: DecideInput, { content, shown_content }: Decided): ApprovalChange[] | null {
  if (content.verdict !== "block" && content.verdict !== "escalate") return null;
  const stopping = content.reasons.filter(({ effect }) => effect === "block" || effect === "escalate");
  const byThreshold = stopping.some(({ policy, policy_id }) => policy_id === null && policy === risk_threshold_name);
  if (stopping.some(({ policy_id, policy }) => policy_id === null && policy !== risk_threshold_name)) return null;
  // Of the modified action: who contributed to that risk, and may withhold the way, is not told.
  const { escalate_at, block_at } = input.membrane.thresholds;
  const reached = ({ effect }: Reason): boolean =>
    content.risk_score >= ((effect === "block" ? block_at : escalate_at) ?? 0);
  if (stopping.some((reason) => reason.policy_id === null && !reached(reason))) return null;
  const matching = matchingPolicies(input);
  const live = new Map(matching.map((placed) => [placed.policy.policy_id, placed]));
  const stoppers: PlacedPolicy[] = [];
  for (const { policy_id } of stopping) {
    const placed = policy_id === null ? undefined : live.get(policy_id);
    if (placed !== undefined && !stoppers.includes(placed)) stoppers.push(placed);
  }
  const risky = new Set(byThreshold ? content.risk_contributions.map(({ source }) => source) : []);
  const contributors = matching.filter(({ policy }) => risky.has(policy.name));
  if ([...stoppers, ...contributors].some(({ policy }) => !policy.explain)) return null;

  const trial: DecideInput = { ...input, budget: { left: Math.min(input.cost_budget ?? cost_budget, cost_budget) } };
  const situation = situationOf(
    trial,
    shown_content,
    new Map([...stoppers, ...contributors].map((p) => [p.policy, p])),
  );
  const parts: (readonly ChangeSet[])[] = [];
  for (const { policy } of stoppers) {
    const ways = remediesOf(policy, situation);
    if (ways.length === 0) return null;
    parts.push(ways);
    if (parts.length > 1 && together(parts).length === 0) return null;
  }
  if (byThreshold) {
    const singles = contributors.flatMap(({ policy }) => remediesOf(policy, situation));
    parts.push(smallestFirst([[], ...singles, ...pairs(singles)]));
  }
  return verified(trial, together(parts));
}

/** The policies that may have had a say. Not all of the set: it may have thousands. */
function matchingPolicies({ intent, membrane, policySet }: DecideInput): readonly PlacedPolicy[] {
  const { type } = decidedAction(intent, policySet.prepare(membrane).catalogue);
  const places = policySet.live.candidates({ type, verb: intent.action.verb, agent_id: intent.agent.id });
  return places.map((place) => policySet.live.placed[place] as PlacedPolicy);
}

/** The first of these sets that holds, cut down to what it needs. */
function verified(trial: DecideInput, sets: readonly ChangeSet[]): ApprovalChange[] | null {
  let left = decisions_max;
  const approves = (set: ChangeSet): boolean => {
    left -= 1;
    const changed = changedWithin(trial, set);
    if (changed === null) return false;
    const { verdict } = judge(changed);
    return goesThrough(verdict) && (trial.budget?.left ?? 0) >= 0;
  };
  const isSpent = (): boolean => left <= 0 || (trial.budget?.left ?? 0) < 0;
  for (const set of sets) {
    if (set.length === 0) continue;
    if (isSpent()) return null;
    if (!approves(set)) continue;
    for (const subset of properSubsets(set)) {
      if (isSpent()) return null;
      if (approves(subset)) return subset.map(({ change }) => change);
    }
    // A subset that was only refused for want of budget may approve after all.
    return isSpent() ? null : set.map(({ change }) => change);
  }
  return null;
}

/**
 * The changed input; null also where the budget is used up. Each change copies what stands beside it, and takes as much as that
 * is: beside 60,000 parameters the few dozen copies of one answer took a second.
 */
function changedWithin(trial: DecideInput, set: ChangeSet): DecideInput | null {
  const { budget } = trial;
  if (budget !== undefined && budget.left >= 0) budget.left -= copiedFor(trial, set);
  return budget !== undefined && budget.left < 0 ? null : applyChanges(trial, set);
}

/** All but the empty one and the set itself, smallest first. */
function properSubsets(set: ChangeSet): readonly ChangeSet[] {
  const subsets: ChangeSet[] = [];
  for (let mask = 1; mask < 2 ** set.length - 1; mask += 1) subsets.push(set.filter((_, at) => (mask >> at) & 1));
  return smallestFirst(subsets);
}

function pairs(sets: readonly ChangeSet[]): readonly ChangeSet[] {
  const few = sets.slice(0, 8);
  return few.flatMap((a, at) => few.slice(at + 1).flatMap((b) => together([[a], [b]])));
}

function situationOf(
  trial: DecideInput,
  shown_content: Decided["shown_content"],
  places: ReadonlyMap<CompiledPolicy, PlacedPolicy>,
): Situation {
  const prepared = trial.policySet.prepare(trial.membrane);
  const action = decidedAction(trial.intent, prepared.catalogue);
  const content = attestedContent(trial);
  const profileOf = (policy: CompiledPolicy): number => places.get(policy)?.profile ?? 0;
  const scenes = new Map<string, (profile: number) => Scene>();
  const shown = scenesOf(trial, prepared, action, shown_content);
  const options = shown(0).options;
  const freshAt = (place: ChangePlace): boolean =>
    place.kind === "param" ||
    prepared.limits.every(
      (ages) => freshUntilUs(trial.facts, ages, place.fact.category, place.fact.field, trial.now_us) !== null,
    );
  return {
    now_us: trial.now_us,
    options,
    bindings: (policy, changes) => {
      const key = textOf(changes);
      let scene = scenes.get(key);
      if (scene === undefined) {
        const changed = changedWithin(trial, changes);
        if (changed === null) return null;
        scene = scenesOf(changed, prepared, action, attestedContent(changed));
        scenes.set(key, scene);
      }
      return scene(profileOf(policy)).fresh.bindings;
    },
    shown: (policy) => shown(profileOf(policy)).fresh.bindings,
    current: (place) => standsAt(place, content, trial.facts),
    isBarred: (place) =>
      place.kind === "param" ? differs(content, shown_content, place.names) : isAlarm(place, trial.facts),
    rank: (place) => {
      if (place.kind === "param") return 1;
      const value = standsAt(place, content, trial.facts);
      return value === undefined || value === null || !freshAt(place) ? 0 : 2;
    },
  };
}

/** What a fact about security says already, however old, nobody is told to say otherwise. A missing one may be supplied. */
function isAlarm(place: ChangePlace & { kind: "fact" }, facts: DecideInput["facts"]): boolean {
  const value = place.fact.category === "security" ? standsAt(place, null, facts) : null;
  return value !== undefined && value !== null;
}

function differs(content: unknown, shown: unknown, names: readonly string[]): boolean {
  if (content === shown) return false;
  const [given, seen] = [valueAt(content, names), valueAt(shown, names)];
  if (given === nothing || seen === nothing) return given !== seen;
  return canonicalJson(given) !== canonicalJson(seen);
}
