import type { Cause, Program } from "@countersign/cel";
import { decidedAction } from "../action.ts";
import type { DecideInput } from "../decision.ts";
import { originOf } from "../facts/merge.ts";
import { jsonValue } from "../json-value.ts";
import { attestedContent, scenesOf } from "../scene.ts";
import { formatTimestampUs } from "../time.ts";
import type { CompiledPolicy } from "./compile.ts";
import { bindVariables, causesOf, evaluateOn, evaluateRule, type RuleState, type Scene } from "./evaluate.ts";
import { factPath } from "./fact-paths.ts";

/** What one expression came to: a value (undefined where JSON has none), or what kept it from having one. */
export interface ExplainedExpression {
  readonly source: string;
  readonly value?: unknown;
  readonly unknowns: readonly Cause[];
}

/** A fact that a policy may read, with where it came from; `source` is null when it is missing. */
export interface ExplainedFact {
  readonly path: string;
  readonly source: string | null;
  readonly as_of: string | null;
  readonly fresh: boolean;
}

/** Why a policy did what it did. */
export interface PolicyExplanation {
  readonly policy_id: string;
  readonly policy: string;
  readonly mode: "live" | "shadow";
  readonly in_force: boolean;
  readonly state: RuleState;
  /** Null: the policy has none. Values are those on fresh facts. */
  readonly when: ExplainedExpression | null;
  readonly require: ExplainedExpression | null;
  readonly facts: readonly ExplainedFact[];
}

/**
 * Explains every policy that matches an action, also the ones that did not fire: how far it got, what its conditions came
 * to, and which facts stood behind them. Values that the action carries are not masked; show them only to who may see it.
 * For reading, not for deciding: it evaluates anew, each policy on a budget of its own.
 */
export function explainPolicies(input: DecideInput): PolicyExplanation[] {
  const prepared = input.policySet.prepare(input.membrane);
  const action = decidedAction(input.intent, prepared.catalogue);
  const key = { type: action.type, verb: input.intent.action.verb, agent_id: input.intent.agent.id };
  const content = attestedContent(input);
  return [input.policySet.live, input.policySet.shadow].flatMap((group) =>
    group.candidates(key).flatMap((place) => {
      const placed = group.placed[place];
      if (placed === undefined) return [];
      return [explain(placed.policy, scenesOf(input, prepared, action, content)(placed.profile), input)];
    }),
  );
}

function explain(policy: CompiledPolicy, scene: Scene, input: DecideInput): PolicyExplanation {
  const in_force = input.now_us >= policy.effective_from_us && input.now_us < policy.effective_until_us;
  return {
    policy_id: policy.policy_id,
    policy: policy.name,
    mode: policy.mode,
    in_force,
    state: evaluateRule(policy, scene).state,
    when: policy.when === null ? null : expression(policy, policy.when, scene),
    require: policy.require === null ? null : expression(policy, policy.require, scene),
    facts: [...new Set([...policy.when_facts, ...policy.require_facts])].sort().map((path) => fact(path, scene, input)),
  };
}

function expression(policy: CompiledPolicy, program: Program, scene: Scene): ExplainedExpression {
  bindVariables(policy, scene.fresh.bindings);
  const result = evaluateOn(program, scene.fresh, scene.options);
  return result.kind === "value"
    ? { source: program.source, value: jsonValue(result.value), unknowns: [] }
    : { source: program.source, unknowns: causesOf(result) };
}

function fact(path: string, scene: Scene, { facts }: DecideInput): ExplainedFact {
  const at = factPath(path);
  const origin = at && originOf(facts, at.category, at.field);
  if (at === null || origin === null) return { path, source: null, as_of: null, fresh: false };
  // The fresh view holds a marker of its own in the place of a stale fact, and the given value otherwise.
  const fresh =
    scene.raw === null ||
    scene.fresh.bindings.facts[at.category][at.field] === scene.raw.bindings.facts[at.category][at.field];
  return { path, source: origin.source, as_of: formatTimestampUs(origin.as_of_us), fresh };
}
