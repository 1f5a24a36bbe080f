import type { Cause, Program } from "@countersign/cel";
import { type PullFailure, pullFailures, type Reason } from "@countersign/contract";
import type { CompiledPolicy } from "../policy/compile.ts";
import {
  bindVariables,
  causesOf,
  evaluateOn,
  type Finding,
  holdsOnAllViews,
  mergeCauses,
  type Scene,
  type View,
  valueShown,
} from "../policy/evaluate.ts";
import { clipMessage, shownValue } from "../policy/message.ts";
import { clipText } from "../values/clip-text.ts";
import { withoutTexts } from "../values/hidden-text.ts";
import { jsonValue } from "../values/json-value.ts";
import type { ChangeRequest } from "./modify.ts";

/** What one policy says about the action. */
export interface Vote {
  readonly policy: CompiledPolicy;
  readonly unknowns: readonly Cause[];
  readonly effect: Reason["effect"];
  /** What it wants changed: with the effect `approve_modified`, or as much of it as stands beside its `obstacle`. */
  readonly requests: readonly ChangeRequest[];
  /** The effect when its changes cannot be made. */
  readonly otherwise: Reason["effect"];
  /** From 0 to 1. */
  readonly risk: number;
  /** Why its changes cannot be made, for its message. */
  readonly obstacle: string | null;
  /** The facts without which its changes cannot be computed. */
  readonly lacking: readonly Cause[];
}

const noRequests: readonly ChangeRequest[] = Object.freeze([]);
const noCauses: readonly Cause[] = Object.freeze([]);

/**
 * The vote of a finding, or null when the policy stands aside. `on_unknown` decides for what could not be evaluated:
 * `fire` as if it fired, `escalate`, `block`, or `skip`: no vote and no risk, save that a rule which only adds risk
 * still adds half of it. Running out of budget never loosens: else a large payload would switch rules off.
 * Source: policies.md §3 rules 4 and 6.
 */
export function voteOf(finding: Finding, scene: Scene): Vote | null {
  const { policy, unknowns } = finding;
  const risk = riskOf(policy, scene);
  if (finding.state === "fired") return cast(policy, unknowns, scene, risk);
  const out_of_budget = unknowns.some(({ reason }) => reason === "cost");
  if (out_of_budget && policy.on_unknown !== "fire") return plain(policy, unknowns, leastOutOfBudget(policy), risk);
  const half = risk / 2;
  switch (policy.on_unknown) {
    case "fire":
      return cast(policy, unknowns, scene, out_of_budget ? risk : half);
    case "escalate":
    case "block":
      return plain(policy, unknowns, policy.on_unknown, half);
    case "skip":
      return policy.effect === "none" ? plain(policy, unknowns, "none", half) : null;
    default:
      return policy.on_unknown satisfies never;
  }
}

/** What a rule says that ran out of budget: at least what it would have said had it fired, and at least `escalate`. */
function leastOutOfBudget({ effect, on_unknown }: CompiledPolicy): "escalate" | "block" {
  return effect === "block" || on_unknown === "block" ? "block" : "escalate";
}

/**
 * The vote of a modification that could not be made: it writes no value, and still hides what it hides, which nothing can
 * be in the way of. Source: policies.md §3 rule 5 "a conflict → escalate".
 */
export function obstructed(vote: Vote, obstacle: string): Vote {
  return { ...vote, effect: vote.otherwise, requests: vote.policy.hides, obstacle };
}

function plain(policy: CompiledPolicy, unknowns: readonly Cause[], effect: Reason["effect"], risk: number): Vote {
  return { policy, unknowns, effect, requests: noRequests, otherwise: effect, risk, obstacle: null, lacking: noCauses };
}

function cast(policy: CompiledPolicy, unknowns: readonly Cause[], scene: Scene, risk: number): Vote {
  if (policy.effect !== "approve_modified" && !modifiesInstead(policy, scene))
    return plain(policy, unknowns, policy.effect, risk);
  const otherwise = policy.effect === "block" ? "block" : "escalate";
  const vote: Vote = {
    policy,
    unknowns,
    effect: "approve_modified",
    requests: noRequests,
    otherwise,
    risk,
    obstacle: null,
    lacking: noCauses,
  };
  const requests: ChangeRequest[] = [];
  for (const step of policy.modify) {
    const request = { policy_id: policy.policy_id, policy: policy.name, op: step.op, path: step.path };
    if (step.value === null) {
      requests.push(request);
      continue;
    }
    bindVariables(policy, scene.fresh.bindings);
    const result = evaluateOn(step.value, scene.fresh, scene.options);
    const value = result.kind === "value" ? jsonValue(result.value) : undefined;
    if (value === undefined) {
      const lacking = causesOf(result);
      const because = lacking.length === 0 ? "" : `, because ${lacking.slice(0, 8).map(said).join(", ")}`;
      return obstructed({ ...vote, lacking }, `the value for ${step.path} cannot be computed${because}`);
    }
    requests.push({ ...request, value });
  }
  return { ...vote, requests };
}

/** Stale facts soften nothing, by what they say or by what they no longer say. */
function modifiesInstead(policy: CompiledPolicy, scene: Scene): boolean {
  const { modify_when } = policy;
  if (modify_when === null) return false;
  return holdsOnAllViews(scene, (view) => {
    bindVariables(policy, view.bindings);
    const result = evaluateOn(modify_when, view, scene.options);
    return result.kind === "value" && result.value === true;
  });
}

/**
 * A risk that cannot be computed counts as half of the greatest: unknowns have half weight. One that rests on stale facts
 * does as well, or as what they say where that is more: their good news is missing. Out of budget it is the greatest.
 */
function riskOf(policy: CompiledPolicy, scene: Scene): number {
  if (typeof policy.risk === "number") return policy.risk;
  const fresh = riskOn(policy, policy.risk, scene.fresh, scene);
  if (fresh.known || scene.raw === null) return fresh.risk;
  return Math.max(fresh.risk, riskOn(policy, policy.risk, scene.raw, scene).risk);
}

function riskOn(policy: CompiledPolicy, program: Program, view: View, scene: Scene): { risk: number; known: boolean } {
  bindVariables(policy, view.bindings);
  const result = evaluateOn(program, view, scene.options);
  if (result.kind === "value" && typeof result.value === "number" && !Number.isNaN(result.value))
    return { risk: Math.min(Math.max(result.value, 0), 1), known: true };
  return { risk: causesOf(result).some(({ reason }) => reason === "cost") ? 1 : 0.5, known: false };
}

/**
 * The reason that a vote gives, its message computed on `scene` (where hidden values are hidden already) and without the
 * `hidden` texts, which may stand elsewhere in the intent as well. Never throws.
 */
export function reasonOf(given: Vote, scene: Scene, hidden: readonly string[]): Reason {
  const vote = scene.not_pulled === null ? given : withSource(given, scene.not_pulled);
  const { policy, effect } = vote;
  return {
    policy_id: policy.policy_id,
    policy: policy.name,
    version: policy.version,
    effect,
    message: clipMessage(messageOf(vote, scene, hidden)),
    citations: policy.citations as string[],
    unknown_facts: unknownFacts(vote, hidden),
  };
}

/** What kept it from being definite, as a reason tells it: a bounded number, of bounded length, without `hidden` texts. */
export function unknownFacts({ unknowns, lacking }: Vote, hidden: readonly string[] = []): Reason["unknown_facts"] {
  const all = lacking.length === 0 ? unknowns : mergeCauses(unknowns, lacking);
  if (all.length === 0) return [];
  return all.slice(0, 64).map(({ path, reason }) => ({
    path: clipText(withoutTexts(path, hidden), 256),
    // Without a path it is an error's message, which may have a value in it.
    reason: clipText(path === "" ? withoutTexts(reason, hidden) : reason, 64),
  }));
}

/** What is missing after the context source gave nothing may be missing because of that. */
function withSource(vote: Vote, reason: PullFailure): Vote {
  const sourced = (causes: readonly Cause[]): readonly Cause[] =>
    causes.map((cause) =>
      cause.reason === "missing" && cause.path.startsWith("facts.") ? { ...cause, reason } : cause,
    );
  return { ...vote, unknowns: sourced(vote.unknowns), lacking: sourced(vote.lacking) };
}

function messageOf({ policy, unknowns, obstacle }: Vote, scene: Scene, hidden: readonly string[]): string {
  if (unknowns.length > 0) {
    const causes = withoutTexts(unknowns.slice(0, 8).map(said), hidden);
    return `${policy.title}: not established, because ${causes.join(", ")}`;
  }
  let text = policy.title;
  if (policy.message !== null) {
    text = "";
    for (const part of policy.message)
      text +=
        typeof part === "string" ? part : shownValue(withoutTexts(jsonValue(valueShown(part, policy, scene)), hidden));
  }
  return obstacle === null ? text : `${text} (not modified: ${withoutTexts(obstacle, hidden)})`;
}

function said({ path, reason }: Cause): string {
  if (reason === "cost") return "the cost budget is used up";
  if (Object.hasOwn(pullFailures, reason)) return `${path} is missing (${pullFailures[reason as PullFailure]})`;
  return path === "" ? reason : `${path} is ${reason === "type" ? "of the wrong type" : reason}`;
}
