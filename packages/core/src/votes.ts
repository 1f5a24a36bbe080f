import type { Cause } from "@countersign/cel";
import { type PullFailure, pullFailures } from "@countersign/contract";
import type { Reason } from "./decision.ts";
import { jsonValue } from "./json-value.ts";
import type { ChangeRequest } from "./modify.ts";
import type { CompiledPolicy } from "./policy/compile.ts";
import { bindVariables, evaluateOn, type Finding, type Scene, valueShown } from "./policy/evaluate.ts";
import { clipMessage, shownValue } from "./policy/message.ts";

/** What one policy says about the action. */
export interface Vote {
  readonly policy: CompiledPolicy;
  readonly unknowns: readonly Cause[];
  readonly effect: Reason["effect"];
  /** What it wants changed; only with the effect `approve_modified`. */
  readonly requests: readonly ChangeRequest[];
  /** The effect when its changes cannot be made. */
  readonly otherwise: Reason["effect"];
  /** From 0 to 1. */
  readonly risk: number;
  /** Why its changes cannot be made, for its message. */
  readonly obstacle: string | null;
}

const noRequests: readonly ChangeRequest[] = Object.freeze([]);

/**
 * The vote of a finding, or null when the policy stands aside. `on_unknown` decides for what could not be evaluated:
 * `fire` as if it fired, `escalate`, `block`, or `skip`: no vote and no risk, save that a rule which only adds risk
 * still adds half of it. Running out of budget is never skipped: else a large payload would switch rules off.
 * Source: policies.md §3 rules 4 and 6.
 */
export function voteOf(finding: Finding, scene: Scene): Vote | null {
  const { policy, unknowns } = finding;
  if (finding.state === "fired") return cast(policy, unknowns, scene, riskOf(policy, scene));
  const half = riskOf(policy, scene) / 2;
  switch (policy.on_unknown) {
    case "fire":
      return cast(policy, unknowns, scene, half);
    case "escalate":
    case "block":
      return plain(policy, unknowns, policy.on_unknown, half);
    case "skip":
      if (unknowns.some((cause) => cause.reason === "cost")) return plain(policy, unknowns, "escalate", half);
      return policy.effect === "none" ? plain(policy, unknowns, "none", half) : null;
    default:
      return policy.on_unknown satisfies never;
  }
}

/** The vote of a modification that could not be made. Source: policies.md §3 rule 5 "a conflict → escalate". */
export function obstructed(vote: Vote, obstacle: string): Vote {
  return { ...vote, effect: vote.otherwise, requests: noRequests, obstacle };
}

function plain(policy: CompiledPolicy, unknowns: readonly Cause[], effect: Reason["effect"], risk: number): Vote {
  return { policy, unknowns, effect, requests: noRequests, otherwise: effect, risk, obstacle: null };
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
    if (value === undefined) return obstructed(vote, `the value for ${step.path} cannot be computed`);
    requests.push({ ...request, value });
  }
  return { ...vote, requests };
}

function modifiesInstead(policy: CompiledPolicy, scene: Scene): boolean {
  if (policy.modify_when === null) return false;
  bindVariables(policy, scene.fresh.bindings);
  const result = evaluateOn(policy.modify_when, scene.fresh, scene.options);
  return result.kind === "value" && result.value === true;
}

/** A risk that cannot be computed counts as half of the greatest: unknowns have half weight. */
function riskOf(policy: CompiledPolicy, scene: Scene): number {
  if (typeof policy.risk === "number") return policy.risk;
  const value = valueShown(policy.risk, policy, scene);
  return typeof value === "number" && !Number.isNaN(value) ? Math.min(Math.max(value, 0), 1) : 0.5;
}

/**
 * The reason that a vote gives, its message computed on `scene` (where hidden values are hidden already). Never throws.
 */
export function reasonOf(given: Vote, scene: Scene): Reason {
  const vote = scene.not_pulled === null ? given : withSource(given, scene.not_pulled);
  const { policy, effect } = vote;
  return {
    policy_id: policy.policy_id,
    policy: policy.name,
    version: policy.version,
    effect,
    message: messageOf(vote, scene),
    citations: policy.citations as string[],
    unknown_facts: unknownFacts(vote),
  };
}

/** What kept it from being definite, as a reason tells it: a bounded number, of bounded length. */
export function unknownFacts({ unknowns }: Vote): Reason["unknown_facts"] {
  if (unknowns.length === 0) return [];
  return unknowns.slice(0, 64).map(({ path, reason }) => ({ path: path.slice(0, 256), reason: reason.slice(0, 64) }));
}

/** What is missing after the context source gave nothing may be missing because of that. */
function withSource(vote: Vote, reason: PullFailure): Vote {
  const unknowns = vote.unknowns.map((cause) =>
    cause.reason === "missing" && cause.path.startsWith("facts.") ? { ...cause, reason } : cause,
  );
  return { ...vote, unknowns };
}

function messageOf({ policy, unknowns, obstacle }: Vote, scene: Scene): string {
  if (unknowns.length > 0)
    return clipMessage(`${policy.title}: not established, because ${unknowns.slice(0, 8).map(said).join(", ")}`);
  let text = policy.title;
  if (policy.message !== null) {
    text = "";
    for (const part of policy.message)
      text += typeof part === "string" ? part : shownValue(jsonValue(valueShown(part, policy, scene)));
  }
  return clipMessage(obstacle === null ? text : `${text} (not modified: ${obstacle})`);
}

function said({ path, reason }: Cause): string {
  if (reason === "cost") return "the cost budget is used up";
  if (Object.hasOwn(pullFailures, reason)) return `${path} is missing (${pullFailures[reason as PullFailure]})`;
  return path === "" ? reason : `${path} is ${reason === "type" ? "of the wrong type" : reason}`;
}
