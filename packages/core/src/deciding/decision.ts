import type { Budget } from "@countersign/cel";
import type { Decision, Freeze, Membrane, PipelineMode, Reason, Verdict } from "@countersign/contract";
import type { CountedAction } from "../counters/counted.ts";
import type { CountSource } from "../counters/counting.ts";
import type { MergedFacts } from "../facts/merge.ts";
import type { AgentNames } from "../names/known-names.ts";
import type { ReviewDemand } from "../policy/escalation-terms.ts";
import type { PolicySet } from "./policy-set.ts";

export type Content = Readonly<Record<string, unknown>>;

/** Already validated. */
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

/** Never mutate one, because `prepare` caches by identity. */
export type MembraneSettings = Pick<
  Membrane,
  "default_verdict" | "thresholds" | "action_catalogue" | "facts_max_age" | "escalation"
> & {
  /** Absent in old records. Then every assurance counts. */
  readonly facts_from?: Membrane["facts_from"];
};

export interface StandingFreeze extends Pick<Freeze, "kind" | "name" | "mode" | "reason" | "frozen_by" | "frozen_at"> {
  /** Folded agent id, rotation chain of the key, or empty for the organization. */
  readonly subject: string;
  /** For a key: its rotation chain and those of all keys created from it, at any depth. */
  readonly lineages: readonly string[];
}

export interface DecideInput {
  readonly intent: DecidableIntent;
  readonly facts: MergedFacts;
  readonly policySet: PolicySet;
  readonly membrane: MembraneSettings;
  readonly mode: PipelineMode;
  readonly now_us: number;
  /** Policy ids, `default_verdict_name` or `risk_threshold_name`. */
  readonly overrides?: readonly string[];
  /** No override cancels them. */
  readonly freezes?: readonly StandingFreeze[];
  /** Used to report ids that look like one of them. */
  readonly agents_with_facts?: AgentNames | null;
  /** The submitter may attest. Otherwise `human_reviewed` in payload.content is ignored. */
  readonly attested?: boolean;
  /** A person reviewed this action in the service. */
  readonly human_reviewed?: boolean;
  /** In evaluated nodes. Default: `limits.policy_cost_budget`. */
  readonly cost_budget?: number;
  /** Shared by several decisions; replaces `cost_budget`. */
  readonly budget?: Budget;
  /** Sums of earlier actions. Absent: nothing was counted. */
  readonly counts?: CountSource;
}

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

export interface EscalationTerms {
  /** Input of `electorateOf`. */
  readonly demands: readonly ReviewDemand[];
  readonly timeout_seconds: number;
  readonly on_timeout: "block" | "approve";
  readonly approval_valid_seconds: number;
}

export interface Decided {
  readonly content: DecisionContent;
  /** After applying the catalogue. */
  readonly decided_as: { readonly type: string; readonly data_classes: readonly string[] };
  /** Null unless the verdict is `escalate`. */
  readonly escalation: EscalationTerms | null;
  /** payload.content without redacted values, masked values and credentials. */
  readonly shown_content: Content | null;
  /** Texts missing in `shown_content`. People must never see them. */
  readonly hidden_texts: readonly string[];
  /** JSON Pointers of redacted values. */
  readonly withheld: readonly string[];
  /** JSON Pointers of masked values. */
  readonly masked: readonly string[];
  /** Never part of verdict or risk. */
  readonly shadow_reasons: readonly Reason[];
  /** `content.reasons` without stored or pulled facts. */
  readonly reasons_for_agents: readonly Reason[];
  /** How the action counts in the counters of the policies, if it is carried out as decided. */
  readonly counted: readonly CountedAction[];
  /** The counters that have no room for the action (`counters.full`). */
  readonly full_counters: readonly string[];
}

export const default_verdict_name = "membrane.default_verdict";

/** The name, in reasons and overrides, of the hold of actions whose counters take no new key. */
export const counters_full_name = "counters.full";

/** The name, in reasons and overrides, of the hold of each action of the type `tool.change`. */
export const tool_change_name = "tools.changed";

export const risk_threshold_name = "membrane.risk_threshold";

export const strictness: Readonly<Record<Verdict, number>> = { approve: 0, approve_modified: 1, escalate: 2, block: 3 };

export function goesThrough(verdict: Verdict): boolean {
  return verdict === "approve" || verdict === "approve_modified";
}

export function stricter(a: Verdict, b: Verdict): Verdict {
  return strictness[a] >= strictness[b] ? a : b;
}
