import {
  type Budget,
  type EvaluateOptions,
  type EvaluationContext,
  type LazyObject,
  lazy,
  nullFact,
  type Program,
  type Result,
  Timestamp,
  unknown,
} from "@countersign/cel";
import { limits as contractLimits, type PullFailure } from "@countersign/contract";
import { type FactBindings, freshView, type Marker, rawView } from "../facts/staleness.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import type { VariableMemo } from "../policy/shared-variables.ts";
import { us_per_second } from "../time.ts";
import type { Classified } from "./classify.ts";
import type { Content } from "./decision.ts";

/** The values that expressions read. `bindVariables` sets `vars` for each policy. */
export interface Bindings extends Record<string, unknown>, VariableMemo {
  facts: FactBindings;
  vars: LazyObject<never> | null;
}

/** The action under one reading of the facts, with the evaluation that all policies share. */
export interface View {
  readonly bindings: Bindings;
  readonly evaluation: EvaluationContext;
}

/** The views of one action under the age limits of one staleness profile. */
export interface Views {
  /** Stale facts are unknown. */
  readonly fresh: View;
  /** Stale facts count as given; null when no fact is stale. */
  readonly raw: View | null;
  /** Like `raw`, but without the stale fact that says which laws apply; null when that fact is not stale. */
  readonly unscoped: View | null;
  /** Why the context source gave no facts; null when it did, or when the membrane has none. */
  readonly not_pulled: PullFailure | null;
  readonly options: EvaluateOptions & { readonly now: Timestamp; readonly budget: Budget };
}

/** Returns the views for a staleness profile, an index into `PreparedMembrane.limits`. */
export type ViewsByProfile = (profile: number) => Views;

/** The record after `bindFacts`. */
export interface Bound extends Classified {
  /** Views of the submitted action. */
  readonly views: ViewsByProfile;
}

/** Stage 2: binds the action and its facts to the names that expressions read. */
export function bindFacts(record: Classified): Bound {
  const { input, action } = record;
  return { input, action, views: viewsOf(record, action.content) };
}

/**
 * Returns the views of the action with this content. The views of a profile are created when the first policy of that profile
 * is evaluated. All profiles share one cost budget.
 */
export function viewsOf(record: Classified, content: Content | null): ViewsByProfile {
  const { input, action } = record;
  const created: Views[] = [];
  const raw = rawView(input.facts, marker);
  const seconds = Math.floor(input.now_us / us_per_second);
  const now = new Timestamp(seconds, (input.now_us - seconds * us_per_second) * 1000);
  const options = { now, budget: input.budget ?? { left: input.cost_budget ?? contractLimits.policy_cost_budget } };
  const view = (facts: FactBindings): View => {
    const bindings = bindingsOf(record, content, facts);
    return { bindings, evaluation: input.policySet.begin(bindings, now) };
  };
  return (profile) => {
    const known = created[profile];
    if (known !== undefined) return known;
    const limits = action.prepared.limits[profile];
    if (limits === undefined) throw new RangeError(`no staleness profile ${profile}`);
    const fresh = freshView(input.facts, raw, limits, input.now_us, marker);
    const views: Views = {
      fresh: view(fresh),
      raw: fresh === raw ? null : view(raw),
      unscoped: isScopeStale(raw, fresh) ? view(withoutScope(raw)) : null,
      not_pulled: input.facts.not_pulled ?? null,
      options,
    };
    created[profile] = views;
    return views;
  };
}

/** A fact that is null counts as missing in the raw view. In the fresh view a stale null counts as missing, too. */
const marker: Marker = (path, reason) =>
  reason === "null" ? nullFact(path) : unknown(path, reason === "stale" ? "stale" : "null");

/** The fact that says which laws apply. A stale list may lack a law that applies by now. */
const scope_fact = "applicable_frameworks";

function isScopeStale(raw: FactBindings, fresh: FactBindings): boolean {
  return raw !== fresh && raw.regulatory[scope_fact] !== fresh.regulatory[scope_fact];
}

function withoutScope(raw: FactBindings): FactBindings {
  const { [scope_fact]: _, ...regulatory } = raw.regulatory;
  return { ...raw, regulatory };
}

const empty: Content = Object.freeze({});

function bindingsOf({ input, action }: Classified, content: Content | null, facts: FactBindings): Bindings {
  const { intent } = input;
  const { decided_as } = action;
  const target = intent.action.target ?? empty;
  const is_submitted = content === (intent.payload?.content ?? null);
  return {
    intent: is_submitted ? intent : { ...intent, payload: { ...intent.payload, content } },
    agent: intent.agent,
    action: { type: decided_as.type, verb: intent.action.verb, target },
    target,
    params: content ?? empty,
    impact: intent.estimated_impact ?? empty,
    data_classes: decided_as.data_classes,
    facts,
    vars: null,
    memo: [],
    mode: input.mode,
  };
}

/** Binds the variables of this policy. Each is computed when it is first read, and at most once until the next call. */
export function bindVariables(policy: CompiledPolicy, bindings: Bindings): void {
  bindings.vars = policy.thunks === null ? null : (lazy(policy.thunks) as unknown as LazyObject<never>);
}

/** Runs a program on a view to which `bindVariables` bound its policy, and takes the cost from the shared budget. */
export function runOn(program: Program, { evaluation }: View, { budget }: Views["options"]): Result {
  evaluation.left = budget.left;
  const result = program.evaluateIn(evaluation);
  budget.left = evaluation.left;
  return result;
}
