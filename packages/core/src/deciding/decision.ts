import type { Budget } from "@countersign/cel";
import type { Decision, Freeze, Membrane, PipelineMode, Reason, Verdict } from "@countersign/contract";
import type { MergedFacts } from "../facts/merge.ts";
import type { AgentNames } from "../names/known-names.ts";
import type { ReviewDemand } from "../policy/escalation-terms.ts";
import type { PolicySet } from "./policy-set.ts";

/** A JSON object: payload.content of an intent. */
export type Content = Readonly<Record<string, unknown>>;

/** The part of an intent that decisions read. `POST /v1/intents` has checked it. */
export interface DecidableIntent {
  readonly agent: { readonly id: string } & Readonly<Record<string, unknown>>;
  readonly action: {
    readonly type?: string | undefined;
    readonly verb: string;
    readonly target?: Readonly<Record<string, unknown>> | undefined;
  };
  readonly payload?: { readonly summary?: string | undefined; readonly content?: Content | undefined } | undefined;
  readonly estimated_impact?: Readonly<Record<string, unknown>> | undefined;
  readonly data_classes?: readonly string[] | undefined;
}

/** The settings of a membrane that decisions read. Never change such an object, because `prepare` caches by identity. */
export type MembraneSettings = Pick<
  Membrane,
  "default_verdict" | "thresholds" | "action_catalogue" | "facts_max_age" | "escalation"
> & {
  /** Absent in records of membranes from before it existed: every assurance counts. */
  readonly facts_from?: Membrane["facts_from"];
};

/** A freeze that is in force. */
export interface StandingFreeze extends Pick<Freeze, "kind" | "name" | "mode" | "reason" | "frozen_by" | "frozen_at"> {
  /** The folded id of the agent, the chain of rotations of the key, or empty for the organization. */
  readonly subject: string;
  /** Of a key: its chain of rotations and the chains of all keys that it made, directly or not. Else empty. */
  readonly lineages: readonly string[];
}

/** Everything that a decision depends on. */
export interface DecideInput {
  readonly intent: DecidableIntent;
  readonly facts: MergedFacts;
  readonly policySet: PolicySet;
  readonly membrane: MembraneSettings;
  readonly mode: PipelineMode;
  readonly now_us: number;
  /** Names that a person's override covers: policy ids, `default_verdict_name` and `risk_threshold_name`. */
  readonly overrides?: readonly string[];
  /** The freezes that stop this action; absent: none. No override cancels them. */
  readonly freezes?: readonly StandingFreeze[];
  /** The agents with stored facts. An id that only looks like one of them is reported. Absent: not known. */
  readonly agents_with_facts?: AgentNames | null;
  /** Whether the submitter's role may attest. Otherwise `human_reviewed` in payload.content is ignored. */
  readonly attested?: boolean;
  /** Whether a person has reviewed this action in the service. */
  readonly human_reviewed?: boolean;
  /** The cost budget in evaluated nodes; `limits.policy_cost_budget` by default. */
  readonly cost_budget?: number;
  /** A budget that several decisions share, in place of `cost_budget`. */
  readonly budget?: Budget;
}

/** The part of a decision record that `decide` computes. The operation adds ids, times and the review. */
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

/** What an escalation asks for: the strictest terms of the policies and of the membrane. */
export interface EscalationTerms {
  /** What each of them demands; `electorateOf` returns who may vote. */
  readonly demands: readonly ReviewDemand[];
  readonly timeout_seconds: number;
  readonly on_timeout: "block" | "approve";
  /** How long an approval lives. */
  readonly approval_valid_seconds: number;
}

/** The result of `decide`. */
export interface Decided {
  readonly content: DecisionContent;
  /** The action's type and data classes after the membrane's catalogue. */
  readonly decided_as: { readonly type: string; readonly data_classes: readonly string[] };
  /** Null unless the verdict is `escalate`. */
  readonly escalation: EscalationTerms | null;
  /** payload.content without the values that policies redact or mask, and without credentials. Null without content. */
  readonly shown_content: Content | null;
  /** The texts that `shown_content` lacks. Nothing for people may quote them. */
  readonly hidden_texts: readonly string[];
  /** JSON Pointers of the redacted values in payload.content. */
  readonly withheld: readonly string[];
  /** JSON Pointers of the values in payload.content that policies mask. */
  readonly masked: readonly string[];
  /** The reasons of shadow policies; never part of the verdict or the risk. */
  readonly shadow_reasons: readonly Reason[];
  /** The reasons of `content`, in words that quote no stored or pulled fact. */
  readonly reasons_for_agents: readonly Reason[];
}

/** The name of the membrane's default verdict in reasons and overrides. */
export const default_verdict_name = "membrane.default_verdict";

/** The name of the membrane's risk thresholds in reasons and overrides. */
export const risk_threshold_name = "membrane.risk_threshold";

/** The strictness of each verdict; the mildest has 0. */
export const strictness: Readonly<Record<Verdict, number>> = { approve: 0, approve_modified: 1, escalate: 2, block: 3 };

/** Whether this verdict lets the action through, as submitted or modified. */
export function goesThrough(verdict: Verdict): boolean {
  return verdict === "approve" || verdict === "approve_modified";
}

/** Returns the stricter verdict. The order is block, escalate, approve_modified, approve. */
export function stricter(a: Verdict, b: Verdict): Verdict {
  return strictness[a] >= strictness[b] ? a : b;
}
