import { parse, Timestamp, Unknown } from "@countersign/cel";
import type { ApprovalChange, Assurance, Reason } from "@countersign/contract";
import { readTrack } from "../counters/counting.ts";
import { type Views, type ViewsByProfile, viewsOfContent } from "../deciding/bind-facts.ts";
import { type Classified, classify } from "../deciding/classify.ts";
import { judge } from "../deciding/decide.ts";
import { type Decided, type DecideInput, goesThrough, risk_threshold_name } from "../deciding/decision.ts";
import { asAncestor } from "../deciding/evaluate-readings.ts";
import type { PlacedPolicy } from "../deciding/policy-set.ts";
import { asFreshLater, hidesValue, originOf, withoutValues } from "../facts/merge.ts";
import { freshUntilUs } from "../facts/staleness.ts";
import type { ActionKey } from "../policy/action-index.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import { namesOf } from "../policy/nodes-of.ts";
import { us_per_second } from "../time.ts";
import { canonicalJson } from "../values/canonical-json.ts";
import { nothing, valueAt } from "../values/json-patch.ts";
import { applyChanges, type ChangePlace, copiedFor, placeOf, standsAt, textOf } from "./change.ts";
import { fitsFromUs, latest } from "./fits-from.ts";
import { type ChangeSet, type CountedSoFar, remediesOf, type Situation, smallestFirst, together } from "./remedies.ts";

/** The most decisions per answer. */
const decisions_max = 24;

/** Cost per answer, beyond the decision itself. */
const cost_budget = 50_000;

export interface Asker {
  readonly supplies: Assurance;
  /** Otherwise no change depends on stored or pulled facts. */
  readonly gets_values: boolean;
}

const anybody: Asker = { supplies: "verified", gets_values: true };

/**
 * Returns the smallest change set with which the action would have been approved, verified by another decision. If counters stop the
 * action, a last entry `now` has the time from which the unchanged action would be approved, verified in the same way.
 * Deterministic. Null if:
 * - the action is approved
 * - the default verdict or a policy with `explain: false` stops it
 * - no set of at most three changes, and no time, was found within the budget
 *
 * Redacted values and claims that an agent may not make never change
 * (docs/decisions/0014-what-would-have-been-approved.md).
 */
export function wouldApproveIf(input: DecideInput, decided: Decided, asker: Asker = anybody): ApprovalChange[] | null {
  const stop = stopOf(input, decided);
  if (stop === null) return null;
  const trial: DecideInput = { ...input, budget: { left: Math.min(input.cost_budget ?? cost_budget, cost_budget) } };
  const known = asker.gets_values ? trial : { ...trial, facts: withoutValues(trial.facts) };
  const readings = readingsOf(known, stop, decided.shown_content, asker);
  const later = laterOf(stop, readings, trial, asker);
  const changes = changesOf(stop, readings, trial, asker);
  return changes === null && later === null ? null : [...(changes ?? []), ...(later === null ? [] : [later])];
}

/** The policies that stop an action, if changes may be offered. */
interface Stop {
  readonly action: Classified["action"];
  readonly matching: readonly PlacedPolicy[];
  readonly policies: readonly PlacedPolicy[];
  /** The policies that add to a risk which the membrane stops; empty if the risk does not stop the action. */
  readonly contributors: readonly PlacedPolicy[];
  readonly by_threshold: boolean;
}

function stopOf(input: DecideInput, { content }: Decided): Stop | null {
  if (content.verdict !== "block" && content.verdict !== "escalate") return null;
  const stopping_reasons = content.reasons.filter(({ effect }) => effect === "block" || effect === "escalate");
  const by_threshold = stopping_reasons.some(
    ({ policy, policy_id }) => policy_id === null && policy === risk_threshold_name,
  );
  if (stopping_reasons.some(({ policy_id, policy }) => policy_id === null && policy !== risk_threshold_name))
    return null;
  // Reasons do not name the contributors to the modified risk.
  const { escalate_at, block_at } = input.membrane.thresholds;
  const reached = ({ effect }: Reason): boolean =>
    content.risk_score >= ((effect === "block" ? block_at : escalate_at) ?? 0);
  if (stopping_reasons.some((reason) => reason.policy_id === null && !reached(reason))) return null;
  const { action } = classify(input);
  const matching = matchingPolicies(input, action.key);
  const live = new Map(matching.map((placed) => [placed.policy.policy_id, placed]));
  const policies: PlacedPolicy[] = [];
  for (const { policy_id } of stopping_reasons) {
    if (policy_id === null) continue;
    const placed = live.get(policy_id);
    // The policy matches only a look-alike name, which no change can rename.
    if (placed === undefined) return null;
    if (!policies.includes(placed)) policies.push(placed);
  }
  const risky = new Set(by_threshold ? content.risk_contributions.map(({ source }) => source) : []);
  const contributors = matching.filter(({ policy }) => risky.has(policy.name));
  if ([...policies, ...contributors].some(({ policy }) => !policy.explain)) return null;
  return { action, matching, policies, contributors, by_threshold };
}

/** The action as of its agent, or as of an agent above it. */
interface Reading {
  readonly situation: Situation;
  readonly matching: ReadonlySet<PlacedPolicy>;
}

type Readings = readonly [own: Reading, ...above: Reading[]];

function readingsOf(
  input: DecideInput,
  { action, policies, contributors, matching }: Stop,
  shown_content: Decided["shown_content"],
  asker: Asker,
): Readings {
  const places = new Map([...policies, ...contributors].map((placed) => [placed.policy, placed]));
  const situation = (classified: Classified): Situation => situationOf(classified, shown_content, asker, places);
  const above = (input.facts.ancestors ?? []).map((ancestor): Reading => {
    const classified = classify(asAncestor(input, ancestor));
    return {
      situation: situation(classified),
      matching: new Set(matchingPolicies(classified.input, classified.action.key)),
    };
  });
  return [{ situation: situation({ input, action }), matching: new Set(matching) }, ...above];
}

/** Returns each policy with each reading that it matches, because it may fire on each of them. */
function onEach(policies: readonly PlacedPolicy[], readings: Readings) {
  return policies.flatMap((placed) =>
    readings
      .filter(({ matching }) => matching.has(placed))
      .map(({ situation }) => ({ policy: placed.policy, situation })),
  );
}

/** False if the policy may depend on a hidden value, or if only another reading may fire. */
function isKnownToFire(situation: Situation, [own]: Readings, { gets_values }: Asker): boolean {
  return gets_values && situation === own.situation;
}

function changesOf(
  { policies, contributors, by_threshold }: Stop,
  readings: Readings,
  trial: DecideInput,
  asker: Asker,
): ApprovalChange[] | null {
  const parts: (readonly ChangeSet[])[] = [];
  for (const { policy, situation } of onEach(policies, readings)) {
    const ways = remediesOf(policy, situation);
    if (ways.length === 0) {
      if (isKnownToFire(situation, readings, asker)) return null;
      // Another policy's changes may suffice.
      continue;
    }
    parts.push(ways);
    if (parts.length > 1 && together(parts).length === 0) return null;
  }
  if (by_threshold) {
    const singles = contributors.flatMap(({ policy }) => remediesOf(policy, readings[0].situation));
    parts.push(smallestFirst([[], ...singles, ...pairs(singles)]));
  }
  return verified(trial, together(parts), asker);
}

/** Returns the time from which the unchanged action would be approved, because earlier actions leave the windows of counters. */
function laterOf(
  { policies, contributors }: Stop,
  readings: Readings,
  trial: DecideInput,
  asker: Asker,
): ApprovalChange | null {
  const { counts } = trial;
  const counting = [...policies, ...contributors].some(({ policy }) => policy.read_counters.length > 0);
  if (counts?.later === undefined || !counting) return null;
  const times = onEach(policies, readings).flatMap(({ policy, situation }) => {
    const time = fitsFromUs(policy, situation);
    return time === null && !isKnownToFire(situation, readings, asker) ? [] : [time];
  });
  const risky = contributors
    .map(({ policy }) => fitsFromUs(policy, readings[0].situation))
    .filter((time) => time !== null);
  const from_us = latest([...times, ...risky]);
  if (from_us === null || from_us <= trial.now_us) return null;
  const seconds = Math.ceil(from_us / us_per_second);
  const later_us = seconds * us_per_second;
  const facts = asFreshLater(trial.facts, later_us - trial.now_us);
  const { verdict } = judge({ ...trial, now_us: later_us, facts, counts: counts.later.at(later_us) }).conclusion;
  if (!goesThrough(verdict) || (trial.budget?.left ?? 0) < 0) return null;
  return { path: "now", op: "at_least", value: new Timestamp(seconds, 0).toString() };
}

/** A whole set may have thousands of policies. */
function matchingPolicies({ policySet: { live } }: DecideInput, key: ActionKey): readonly PlacedPolicy[] {
  return live.candidates(key).map((place) => live.placed[place] as PlacedPolicy);
}

/** Returns the first set that suffices, without unneeded changes. */
function verified(trial: DecideInput, sets: readonly ChangeSet[], asker: Asker): ApprovalChange[] | null {
  let left = decisions_max;
  const approves = (set: ChangeSet): boolean => {
    left -= 1;
    const changed = changedWithin(trial, set, asker);
    if (changed === null) return false;
    const { verdict } = judge(changed).conclusion;
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
    // Without budget, a subset may still suffice.
    return isSpent() ? null : set.map(({ change }) => change);
  }
  return null;
}

/**
 * Returns null if the change is impossible or over budget. Each copied member costs one unit, because copies of 60,000
 * parameters took a second.
 */
function changedWithin(trial: DecideInput, set: ChangeSet, { supplies }: Asker): DecideInput | null {
  const { budget } = trial;
  if (budget !== undefined && budget.left >= 0) budget.left -= copiedFor(trial, set);
  return budget !== undefined && budget.left < 0 ? null : applyChanges(trial, set, supplies);
}

/** Non-empty, smallest first. */
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
  classified: Classified,
  shown_content: Decided["shown_content"],
  asker: Asker,
  places: ReadonlyMap<CompiledPolicy, PlacedPolicy>,
): Situation {
  const { input: trial, action } = classified;
  const { prepared, content } = action;
  const profileOf = (policy: CompiledPolicy): number => places.get(policy)?.profile ?? 0;
  const shown = viewsOfContent(classified, shown_content);
  const given = content === shown_content ? shown : viewsOfContent(classified, content);
  const views_by_changes = new Map<string, ViewsByProfile>([[textOf([]), given]]);
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
      let views = views_by_changes.get(key);
      if (views === undefined) {
        const changed = changedWithin(trial, changes, asker);
        if (changed === null) return null;
        const reclassified = classify(changed);
        views = viewsOfContent(reclassified, reclassified.action.content);
        views_by_changes.set(key, views);
      }
      return views(profileOf(policy)).fresh.bindings;
    },
    shown: (policy) => shown(profileOf(policy)).fresh.bindings,
    current: (place) => standsAt(place, content, trial.facts),
    isBarred: (place) =>
      place.kind === "param"
        ? differs(content, shown_content, place.names)
        : isAlarm(place, trial.facts) || (!asker.gets_values && isHidden(place, trial.facts)),
    counted: (policy, name) => countedSoFar(trial, shown(profileOf(policy)), name),
    rank: (place) => {
      if (place.kind === "param") return 1;
      const value = standsAt(place, content, trial.facts);
      return value === undefined || value === null || !freshAt(place) ? 0 : 2;
    },
  };
}

function countedSoFar(
  { policySet, counts }: DecideInput,
  { fresh, options }: Views,
  name: string,
): CountedSoFar | null {
  const track = policySet.tracks.byName.get(name);
  if (track === undefined) return null;
  fresh.evaluation.left = options.budget.left;
  const read = readTrack(track, fresh.evaluation);
  options.budget.left = fresh.evaluation.left;
  if (read instanceof Unknown) return null;
  const names = track.value === null || !read.applies ? null : namesOf(parse(track.value.source).root);
  const place = names === null ? null : placeOf(names);
  return {
    place: place?.kind === "param" ? place : null,
    micros: read.reading.micros,
    fallsByUs: (field, by) => counts?.later?.fallsByUs(track, read.key, field, by) ?? null,
  };
}

/** A security fact with a value, even an old one, is an alarm and never changes. A missing one may be supplied. */
function isAlarm(place: ChangePlace & { kind: "fact" }, facts: DecideInput["facts"]): boolean {
  const value = place.fact.category === "security" ? standsAt(place, null, facts) : null;
  return value !== undefined && value !== null;
}

function isHidden({ fact }: ChangePlace & { kind: "fact" }, facts: DecideInput["facts"]): boolean {
  const origin = originOf(facts, fact.category, fact.field);
  return origin !== null && hidesValue(origin);
}

function differs(content: unknown, shown: unknown, names: readonly string[]): boolean {
  if (content === shown) return false;
  const [given, seen] = [valueAt(content, names), valueAt(shown, names)];
  if (given === nothing || seen === nothing) return given !== seen;
  return canonicalJson(given) !== canonicalJson(seen);
}
