import type { Budget } from "@countersign/cel";
import type { Decision, Membrane, PipelineMode, Reason, Verdict } from "@countersign/contract";
import type { MergedFacts } from "../facts/merge.ts";
import type { ReviewDemand } from "../policy/escalation-terms.ts";
import type { PolicySet } from "./policy-set.ts";

/** An intent as deciding reads it: whatever `POST /v1/intents` accepts, checked before. Source: api.md §4. */
export interface DecidableIntent {
  readonly agent: { readonly id: string } & Readonly<Record<string, unknown>>;
  readonly action: {
    readonly type?: string | undefined;
    readonly verb: string;
    readonly target?: Readonly<Record<string, unknown>> | undefined;
  };
  readonly payload?:
    | { readonly summary?: string | undefined; readonly content?: Readonly<Record<string, unknown>> | undefined }
    | undefined;
  readonly estimated_impact?: Readonly<Record<string, unknown>> | undefined;
  readonly data_classes?: readonly string[] | undefined;
}

/** What of a membrane bears on decisions. Never change such an object: what is derived from it is remembered. */
export type MembraneSettings = Pick<
  Membrane,
  "default_verdict" | "thresholds" | "action_catalogue" | "facts_max_age" | "escalation"
>;

/** Everything that a decision depends on. The same input gives the same bytes, on any machine, at any time. */
export interface DecideInput {
  readonly intent: DecidableIntent;
  readonly facts: MergedFacts;
  readonly policySet: PolicySet;
  readonly membrane: MembraneSettings;
  readonly mode: PipelineMode;
  readonly now_us: number;
  /**
   * What a person's override lifts: policy ids, and for the membrane's own say `default_verdict_name` and
   * `risk_threshold_name`.
   * Source: policies.md §3 rule 8.
   */
  readonly overrides?: readonly string[];
  /**
   * The submitter's role may attest: then `human_reviewed` in payload.content counts as said. Source: policies.md §6.
   */
  readonly attested?: boolean;
  /** The service itself has seen a person decide on this very action. */
  readonly human_reviewed?: boolean;
  /** Cost budget of the evaluation, in evaluated nodes; `limits.policy_cost_budget` by default. */
  readonly cost_budget?: number;
  /** Shared with other decisions and counted down, in place of `cost_budget`. */
  readonly budget?: Budget;
}

/**
 * The part of the decision record that is decided; ids, times and review belong to the operation. Source: api.md §4.
 */
export type DecisionContent = Pick<
  Decision,
  | "verdict"
  | "risk_score"
  | "risk_contributions"
  | "reasons"
  | "modifications"
  | "modified_content"
  | "valid_until"
  | "policy_set"
>;

/** What an escalation of this decision asks for: the strictest of what the fired policies and the membrane say. */
export interface EscalationTerms {
  /** What each of them demands; `commonReviewers` returns who may review. */
  readonly demands: readonly ReviewDemand[];
  readonly quorum: number;
  readonly timeout_seconds: number;
  readonly on_timeout: "block" | "approve";
}

/** A decision and what goes with it. */
export interface Decided {
  readonly content: DecisionContent;
  /** The action as it was decided on: after the membrane's catalogue. */
  readonly decided_as: { readonly type: string; readonly data_classes: readonly string[] };
  /** Null unless the verdict is `escalate`. */
  readonly escalation: EscalationTerms | null;
  /** payload.content as people may see it: what a policy removes or redacts is gone. Null without content. */
  readonly shown_content: Readonly<Record<string, unknown>> | null;
  /** JSON Pointers of what people are not shown of payload.content. */
  readonly withheld: readonly string[];
  /** What shadow policies would have done; never part of the verdict or the risk. */
  readonly shadow_reasons: readonly Reason[];
}

/** The name under which the membrane's default verdict stands in reasons and overrides. */
export const default_verdict_name = "membrane.default_verdict";

/** The name under which a risk threshold stands in reasons and overrides. */
export const risk_threshold_name = "membrane.risk_threshold";

/** The verdicts by how strict they are, the mildest 0. */
export const strictness: Readonly<Record<Verdict, number>> = { approve: 0, approve_modified: 1, escalate: 2, block: 3 };

/** Whether an action is let through by this verdict, as it is or modified. */
export function goesThrough(verdict: Verdict): boolean {
  return verdict === "approve" || verdict === "approve_modified";
}

/**
 * The stricter of two verdicts: block, then escalate, then approve_modified, then approve. Source: policies.md §3 rule
 * 2.
 */
export function stricter(a: Verdict, b: Verdict): Verdict {
  return strictness[a] >= strictness[b] ? a : b;
}
