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
import { limits as contractLimits, type PullFailure, unnamed_agent_id } from "@countersign/contract";
import { type Counting, lazyCounts, nothingCounted } from "../counters/counting.ts";
import type { MergedFacts } from "../facts/merge.ts";
import { type FactBindings, freshView, type Marker, rawView, respelledView } from "../facts/staleness.ts";
import type { CompiledPolicy } from "../policy/compile.ts";
import type { VariableMemo } from "../policy/shared-variables.ts";
import { us_per_second } from "../time.ts";
import type { Classified } from "./classify.ts";
import type { Content } from "./decision.ts";
import { typedContent } from "./parameter-types.ts";

/** `bindVariables` sets `vars` for each policy. */
export interface Bindings extends Record<string, unknown>, VariableMemo {
  facts: FactBindings;
  vars: LazyObject<never> | null;
  readonly counting: Counting;
}

export interface View {
  readonly bindings: Bindings;
  readonly evaluation: EvaluationContext;
}

/** A profile is a set of age limits and required assurances of facts. */
export interface Views {
  /** Facts are unknown if stale, of too little assurance, or stored for another spelling. */
  readonly fresh: View;
  /** Stale and untrusted facts keep their values. Null if there are none. */
  readonly raw: View | null;
  /** `raw` plus values stored for another spelling. Null if there are none. */
  readonly respelled: View | null;
  /** `raw` without `scope_fact`. Null unless that fact is stale. */
  readonly unscoped: View | null;
  readonly unnamed: boolean;
  /** The failure of the context source, or null. */
  readonly not_pulled: PullFailure | null;
  readonly facts: MergedFacts;
  readonly options: EvaluateOptions & { readonly now: Timestamp; readonly budget: Budget };
}

/** `profile` is an index into `PreparedMembrane.limits`. */
export type ViewsByProfile = (profile: number) => Views;

export interface Bound extends Classified {
  readonly viewsFor: ViewsByProfile;
}

/** Stage 2: binds action and facts to the names in expressions. */
export function bindFacts(record: Classified): Bound {
  const { input, action } = record;
  return { input, action, viewsFor: viewsOfContent(record, action.content) };
}

/** Returns the views of the action with `given` as payload.content. All profiles share one cost budget. */
export function viewsOfContent(record: Classified, given: Content | null): ViewsByProfile {
  const { input, action } = record;
  const content = given === null || action.parameters === null ? given : typedContent(given, action.parameters);
  const created: Views[] = [];
  const raw = rawView(input.facts, marker);
  const seconds = Math.floor(input.now_us / us_per_second);
  const now = new Timestamp(seconds, (input.now_us - seconds * us_per_second) * 1000);
  const options = { now, budget: input.budget ?? { left: input.cost_budget ?? contractLimits.policy_cost_budget } };
  const view = (facts: FactBindings): View => {
    const bindings = bindingsOf(record, content, facts);
    return { bindings, evaluation: input.policySet.begin(bindings, now, action.parameters?.paths ?? null) };
  };
  return (profile) => {
    const known = created[profile];
    if (known !== undefined) return known;
    const limits = action.prepared.limits[profile];
    if (limits === undefined) throw new RangeError(`no profile ${profile}`);
    const fresh = freshView(input.facts, raw, limits, input.now_us, marker);
    const { respelled } = input.facts;
    const views: Views = {
      fresh: view(fresh),
      raw: fresh === raw ? null : view(raw),
      respelled: respelled === undefined ? null : view(respelledView(raw, respelled)),
      unscoped: isScopeStale(raw, fresh) ? view(withoutScope(raw)) : null,
      unnamed: action.key.agent_id === unnamed_agent_id,
      not_pulled: input.facts.not_pulled ?? null,
      facts: input.facts,
      options,
    };
    created[profile] = views;
    return views;
  };
}

/**
 * Marks unusable facts. A usable null counts as missing, but may be compared with the literal null. A stale or
 * untrusted null is unknown with the reason "null".
 */
const marker: Marker = (path, reason) =>
  reason === "null" ? nullFact(path) : unknown(path, reason === "unusable null" ? "null" : reason);

/** Lists the laws that apply. If stale, it must not switch a policy off, because it may lack a newer law. */
const scope_fact = "applicable_frameworks";

function isScopeStale(raw: FactBindings, fresh: FactBindings): boolean {
  return raw !== fresh && raw.regulatory[scope_fact] !== fresh.regulatory[scope_fact];
}

function withoutScope(raw: FactBindings): FactBindings {
  const { [scope_fact]: _, ...regulatory } = raw.regulatory;
  return { ...raw, regulatory };
}

const empty: Content = Object.freeze({});
const noCounts = Object.freeze({ count: empty, after: empty });

export const unnamedAgent = unknown("agent.id", "unnamed");

function bindingsOf({ input, action }: Classified, content: Content | null, facts: FactBindings): Bindings {
  const { decided_as } = action;
  const { policySet } = input;
  const agent = agentOf(input, action.key.agent_id === unnamed_agent_id);
  const intent = agent === input.intent.agent ? input.intent : { ...input.intent, agent };
  const target = intent.action.target ?? empty;
  const is_submitted = content === (intent.payload?.content ?? null);
  return {
    intent: is_submitted ? intent : { ...intent, payload: { ...intent.payload, content } },
    agent,
    action: { type: decided_as.type, verb: intent.action.verb, target },
    target,
    params: content ?? empty,
    impact: intent.estimated_impact ?? empty,
    data_classes: decided_as.data_classes,
    facts,
    vars: null,
    memo: [],
    mode: input.mode,
    counting: { source: input.counts ?? nothingCounted, tracks: policySet.tracks, key: action.key },
    ...(policySet.counts === null ? noCounts : lazyCounts(policySet.counts)),
  };
}

/** Uses the registered parent instead of the submitted one. */
function agentOf({ intent, facts }: Classified["input"], is_unnamed: boolean) {
  const [parent] = facts.ancestors ?? [];
  if (parent === undefined && !is_unnamed) return intent.agent;
  return {
    ...intent.agent,
    ...(is_unnamed && { id: unnamedAgent }),
    ...(parent !== undefined && { parent: parent.id, ancestors: facts.ancestors?.map(({ id }) => id) }),
  };
}

/** Resets this policy's variables. Call it before running its programs on a view. */
export function bindVariables(policy: CompiledPolicy, bindings: Bindings): void {
  bindings.vars = policy.thunks === null ? null : (lazy(policy.thunks) as unknown as LazyObject<never>);
}

/** Charges the shared budget. Call `bindVariables` first. */
export function runOn(program: Program, { evaluation }: View, { budget }: Views["options"]): Result {
  evaluation.left = budget.left;
  const result = program.evaluateIn(evaluation);
  budget.left = evaluation.left;
  return result;
}
