import type { Budget, Cause, Program, Result } from "@countersign/cel";
import {
  not_shown,
  other_spelling,
  type PullFailure,
  pullFailures,
  type Reason,
  untrusted_source,
  untrusted_token,
} from "@countersign/contract";
import { isLookAlikeCause } from "../names/look-alike-cause.ts";
import type { Change, CompiledPolicy } from "../policy/compile.ts";
import { clipText } from "../values/clip-text.ts";
import { jsonValue } from "../values/json-value.ts";
import {
  type Bound,
  bindVariables,
  runOn,
  unnamedAgent,
  type View,
  type Views,
  type ViewsByProfile,
} from "./bind-facts.ts";
import { strictness } from "./decision.ts";
import type { PlacedPolicy, PolicyGroup } from "./policy-set.ts";

export interface Vote {
  readonly placed: PlacedPolicy;
  readonly effect: Reason["effect"];
  /** With an `obstacle` only the redactions. */
  readonly changes: readonly Change[];
  /** Effect if the changes cannot be made. */
  readonly fallback: Reason["effect"];
  /** From 0 to 1. */
  readonly risk: number;
  /** Empty if the policy fired. */
  readonly unknowns: readonly Cause[];
  /** Why the changes cannot be made. */
  readonly obstacle: string | null;
  /** Facts missing to compute a change. */
  readonly missing: readonly Cause[];
  /** Places of suppressed policies. */
  readonly suppresses: readonly number[];
  /** The agent above that this vote is about. Absent for the acting agent. */
  readonly ancestor?: string;
  /** Set if this vote lacks a value because the budget ran out. */
  readonly spenders: readonly Spender[];
}

interface Spender {
  readonly policy: string;
  readonly units: number;
}

/** `nothing`: outside the effective period. */
export const partsRead = { nothing: 0, when: 1, all: 2 } as const;

export interface Evaluation {
  readonly group: PolicyGroup;
  readonly candidates: readonly number[];
  /** One of `partsRead` for each candidate. */
  readonly read: Uint8Array;
  /** In the order of the policy set. */
  readonly votes: readonly Vote[];
}

export interface Evaluated extends Bound {
  readonly evaluation: Evaluation;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Evaluates every candidate, because audit and risk need all votes. A policy suppresses others only if it fires on
 * every view, because stale facts must not switch policies off. Policies at the places `suppressed` do not vote.
 */
export function evaluatePolicies(
  group: PolicyGroup,
  candidates: readonly number[],
  viewsFor: ViewsByProfile,
  now_us: number,
  suppressed: readonly number[] = none,
): Evaluation {
  const read = new Uint8Array(candidates.length);
  const left_before = new Float64Array(candidates.length);
  let budget: Budget | null = null;
  const votes: Vote[] = [];
  let silenced: Set<number> | null = suppressed.length === 0 ? null : new Set(suppressed);
  for (let i = 0; i < candidates.length; i += 1) {
    const placed = group.placed[candidates[i] as number] as PlacedPolicy;
    const { policy } = placed;
    if (now_us < policy.effective_from_us || now_us >= policy.effective_until_us) continue;
    const views = viewsFor(placed.profile);
    ({ budget } = views.options);
    left_before[i] = budget.left;
    const outcome = outcomeForAgent(placed, views);
    read[i] = outcome.read;
    if (outcome.state === "not_fired") continue;
    const vote = voteOf(placed, outcome, views);
    const suppresses = placed.suppresses.length > 0 && outcome.state === "fired" && firesOnEveryView(policy, views);
    if (vote !== null) votes.push(suppresses ? { ...vote, suppresses: placed.suppresses } : vote);
    if (suppresses) {
      silenced ??= new Set();
      for (const place of placed.suppresses) silenced.add(place);
    }
  }
  const counted = silenced === null ? votes : votesWithout(silenced, votes);
  if (budget === null || !counted.some(lacksBudget)) return { group, candidates, read, votes: counted };
  const spenders = spendersOf({ group, candidates, read }, left_before, budget.left);
  const told = counted.map((vote) => (lacksBudget(vote) ? { ...vote, spenders } : vote));
  return { group, candidates, read, votes: told };
}

function lacksBudget({ unknowns, missing }: Vote): boolean {
  return [unknowns, missing].some((causes) => causes.some(({ reason }) => reason === "cost"));
}

/** Most expensive first. */
function spendersOf(
  { group, candidates, read }: Pick<Evaluation, "group" | "candidates" | "read">,
  left_before: Float64Array,
  left_last: number,
): Spender[] {
  const spenders: Spender[] = [];
  let left = left_last;
  for (let i = candidates.length - 1; i >= 0; i -= 1) {
    if (read[i] === partsRead.nothing) continue;
    const before = left_before[i] as number;
    const { policy } = group.placed[candidates[i] as number] as PlacedPolicy;
    if (before > left) spenders.push({ policy: policy.name, units: before - left });
    left = before;
  }
  return spenders.reverse().sort((a, b) => b.units - a.units);
}

function votesWithout(silenced: ReadonlySet<number>, votes: readonly Vote[]): readonly Vote[] {
  return votes.filter(({ placed }) => !silenced.has(placed.place));
}

interface Outcome {
  readonly state: "fired" | "unknown" | "not_fired";
  readonly unknowns: readonly Cause[];
  readonly read: (typeof partsRead)["when" | "all"];
}

const fired: Outcome = Object.freeze({ state: "fired", unknowns: none, read: partsRead.all });
/** `when` is false, so `require` was not evaluated. */
const notApplicable: Outcome = Object.freeze({ state: "not_fired", unknowns: none, read: partsRead.when });
/** `require` is true. */
const satisfied: Outcome = Object.freeze({ state: "not_fired", unknowns: none, read: partsRead.all });

/** Evaluates one policy. If an unnamed caller may not match it, "fired" becomes "unknown". */
function outcomeForAgent({ policy, agent_unknown }: PlacedPolicy, views: Views): Outcome {
  const outcome = outcomeOf(policy, views);
  if (!agent_unknown || !views.unnamed || outcome.state === "not_fired") return outcome;
  return { ...outcome, state: "unknown", unknowns: mergeCauses(outcome.unknowns, unnamedAgent.causes) };
}

/**
 * A policy fires if `when` holds and `require` does not, on any view. Stale or untrusted bad news counts, such good
 * news does not.
 */
function outcomeOf(policy: CompiledPolicy, views: Views): Outcome {
  const fresh = outcomeOn(policy, views.fresh, views);
  if (fresh.state === "fired" || views.raw === null) return fresh;
  // A definite fresh outcome is not enough, because a host function may read a stale fact as missing.
  const raw = outcomeOn(policy, views.raw, views);
  if (raw.state === "fired") return raw;
  const unscoped = views.unscoped === null ? fresh : outcomeOn(policy, views.unscoped, views);
  if (unscoped.state === "fired") return unscoped;
  const open = [fresh, unscoped, raw].find(({ state }) => state === "unknown");
  const respelled = views.respelled === null ? fresh : outcomeOn(policy, views.respelled, views);
  if (respelled.state === "fired" && (open === undefined || !isMilderWhenFired(policy))) return respelled;
  return open ?? (respelled.state === "unknown" ? respelled : fresh);
}

/** True if the policy can be stricter when unknown than when it fires. */
function isMilderWhenFired({ effect, on_unknown, modify_when }: CompiledPolicy): boolean {
  if (on_unknown !== "escalate" && on_unknown !== "block") return false;
  return modify_when !== null || strictness[effect === "none" ? "approve" : effect] < strictness[on_unknown];
}

function outcomeOn(policy: CompiledPolicy, view: View, { options }: Views): Outcome {
  bindVariables(policy, view.bindings);
  let unknowns: readonly Cause[] | null = null;
  if (policy.when !== null) {
    const applies = runOn(policy.when, view, options);
    if (applies.kind !== "value") unknowns = causesOf(applies);
    else if (applies.value !== true) return notApplicable;
  }
  if (policy.require !== null) {
    const holds = runOn(policy.require, view, options);
    if (holds.kind !== "value") unknowns = unknowns === null ? causesOf(holds) : mergeCauses(unknowns, causesOf(holds));
    else if (holds.value === true) return satisfied;
  }
  return unknowns === null ? fired : { state: "unknown", unknowns, read: partsRead.all };
}

/** Conditions that soften the verdict must hold on every view, because stale facts must not soften it. */
function holdsOnEveryView({ fresh, raw, unscoped, respelled }: Views, holds: (view: View) => boolean): boolean {
  return [fresh, raw, unscoped, respelled].every((view) => view === null || holds(view));
}

function firesOnEveryView(policy: CompiledPolicy, views: Views): boolean {
  return views.raw === null || holdsOnEveryView(views, (view) => outcomeOn(policy, view, views).state === "fired");
}

/**
 * Returns the vote of a fired or unknown policy, or null if the policy does not vote. `on_unknown` decides for an
 * unknown policy, which adds half its risk. With `skip` only a policy without an effect votes, to add risk.
 *
 * If the budget ran out, the policy adds its full risk and at least escalates, because a large payload must not switch
 * policies off.
 */
function voteOf(placed: PlacedPolicy, { state, unknowns }: Outcome, views: Views): Vote | null {
  const { policy } = placed;
  const risk = riskOf(policy, views);
  if (state === "fired") return firedVote(placed, unknowns, views, risk);
  const out_of_budget = unknowns.some(({ reason }) => reason === "cost");
  if (policy.on_unknown === "fire") return firedVote(placed, unknowns, views, out_of_budget ? risk : risk / 2);
  if (out_of_budget) {
    const blocks = policy.effect === "block" || policy.on_unknown === "block";
    return plainVote(placed, unknowns, blocks ? "block" : "escalate", risk);
  }
  if (policy.on_unknown !== "skip") return plainVote(placed, unknowns, policy.on_unknown, risk / 2);
  return policy.effect === "none" ? plainVote(placed, unknowns, "none", risk / 2) : null;
}

/**
 * Returns the vote of a policy that fires. If a value cannot be computed, the vote takes its fallback effect and keeps
 * only its redactions.
 */
function firedVote(placed: PlacedPolicy, unknowns: readonly Cause[], views: Views, risk: number): Vote {
  const { policy } = placed;
  const plain = plainVote(placed, unknowns, policy.effect, risk);
  if (policy.effect !== "approve_modified" && !modifiesInstead(policy, views)) return plain;
  if (policy.modify.length === 0) return policy.effect === "approve_modified" ? { ...plain, effect: "none" } : plain;
  const fallback = policy.effect === "block" ? "block" : "escalate";
  const changes: Change[] = [];
  for (const step of policy.modify) {
    const change = { policy_id: policy.policy_id, policy: policy.name, op: step.op, path: step.path };
    if (step.value === null) {
      changes.push(change);
      continue;
    }
    bindVariables(policy, views.fresh.bindings);
    const result = runOn(step.value, views.fresh, views.options);
    const value = result.kind === "value" ? jsonValue(result.value) : undefined;
    if (value === undefined) {
      const missing = causesOf(result);
      const because = missing.length === 0 ? "" : `, because ${missing.slice(0, 8).map(causeText).join(", ")}`;
      return obstructed({ ...plain, fallback, missing }, `the value for ${step.path} cannot be computed${because}`);
    }
    changes.push({ ...change, value });
  }
  return { ...plain, effect: "approve_modified", changes, fallback };
}

function modifiesInstead(policy: CompiledPolicy, views: Views): boolean {
  const { modify_when } = policy;
  if (modify_when === null) return false;
  return holdsOnEveryView(views, (view) => {
    bindVariables(policy, view.bindings);
    const result = runOn(modify_when, view, views.options);
    return result.kind === "value" && result.value === true;
  });
}

export function plainVote(
  placed: PlacedPolicy,
  unknowns: readonly Cause[],
  effect: Reason["effect"],
  risk: number,
): Vote {
  return {
    placed,
    effect,
    changes: none,
    fallback: effect,
    risk,
    unknowns,
    obstacle: null,
    missing: none,
    suppresses: none,
    spenders: none,
  };
}

/** Switches to the fallback effect. Redactions stay, because they can always be made. */
export function obstructed(vote: Vote, obstacle: string): Vote {
  return { ...vote, effect: vote.fallback, changes: vote.placed.policy.redactions, obstacle };
}

/** Overrides cancel blocks and escalations, never modifications. */
export function isOverridden({ placed, effect }: Vote, overrides: ReadonlySet<string>): boolean {
  return overrides.has(placed.policy.policy_id) && (effect === "block" || effect === "escalate");
}

/** If unusable facts make the risk unknown, the greatest risk of all views counts. */
function riskOf(policy: CompiledPolicy, views: Views): number {
  if (typeof policy.risk === "number") return policy.risk;
  const fresh = riskOn(policy, policy.risk, views.fresh, views);
  if (fresh.known || views.raw === null) return fresh.risk;
  const raw = riskOn(policy, policy.risk, views.raw, views).risk;
  const respelled = views.respelled === null ? 0 : riskOn(policy, policy.risk, views.respelled, views).risk;
  return Math.max(fresh.risk, raw, respelled);
}

/** Unknown risk counts as 0.5, or as 1 if the budget ran out. */
function riskOn(policy: CompiledPolicy, program: Program, view: View, views: Views): { risk: number; known: boolean } {
  bindVariables(policy, view.bindings);
  const result = runOn(program, view, views.options);
  if (result.kind === "value" && typeof result.value === "number" && !Number.isNaN(result.value))
    return { risk: Math.min(Math.max(result.value, 0), 1), known: true };
  return { risk: causesOf(result).some(({ reason }) => reason === "cost") ? 1 : 0.5, known: false };
}

/** `mergeCauses` uses NUL as separator. */
function causesOf(result: Result): readonly Cause[] {
  if (result.kind === "unknown") return result.unknowns;
  return result.kind === "error" ? [{ path: "", reason: clipText(result.message.replaceAll("\0", "\ufffd"), 64) }] : [];
}

export function mergeCauses(a: readonly Cause[], b: readonly Cause[]): readonly Cause[] {
  const known = new Set(a.map((cause) => `${cause.path}\0${cause.reason}`));
  return [...a, ...b.filter((cause) => !known.has(`${cause.path}\0${cause.reason}`))].sort(byPath);
}

function byPath(a: Cause, b: Cause): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.reason < b.reason ? -1 : a.reason > b.reason ? 1 : 0;
}

const causeWords = {
  type: "is of the wrong type",
  [untrusted_source]: "comes from a source that does not count here",
  [untrusted_token]: "should come from the agent's token, and the request has no token that the service trusts",
  [other_spelling]: "is stored for another spelling of this id",
  [not_shown]: "is not shown to agents",
} as const;

export function causeText({ path, reason }: Cause): string {
  if (reason === "cost") return "the cost budget is used up";
  if (Object.hasOwn(causeWords, reason)) return `${path} ${causeWords[reason as keyof typeof causeWords]}`;
  if (Object.hasOwn(pullFailures, reason)) return `${path} is missing (${pullFailures[reason as PullFailure]})`;
  if (path === "") return reason;
  return isLookAlikeCause({ path, reason }) ? `${path} ${reason}` : `${path} is ${reason}`;
}
