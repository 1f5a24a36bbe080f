/** The policy document as types. Its rules are in schema.ts and check.ts. */
import type { FactsFrom, Pace } from "@countersign/contract";

/** The effect of a fired rule; `none` only adds risk. */
export type Effect = "block" | "escalate" | "approve_modified" | "none";

/** The effect of a rule that cannot be evaluated because a value is unknown. */
export type OnUnknown = "fire" | "escalate" | "block" | "skip";

/** Who may override a block of this rule. */
export type OverrideClass = "reviewer" | "two_person" | "never";

/** How `modify` changes payload.content; `mask` changes only what people see of it. */
export type ModifyOp = "remove" | "redact" | "mask" | "set" | "cap" | "floor";

/** Patterns are exact names or a prefix and `*`. An empty or absent list matches everything. */
export interface MatchPatterns {
  readonly actions?: readonly string[];
  readonly verbs?: readonly string[];
  readonly agents?: readonly string[];
}

/** One change of payload.content. `path` is a JSON Pointer, in which `*` names all entries for `remove`, `redact` and `mask`; `value` is a CEL expression. */
export interface ModifyStep {
  readonly op: ModifyOp;
  readonly path: string;
  readonly value?: string;
}

/** The terms of an escalation by this rule. The membrane gives absent ones. */
export interface EscalationSettings {
  readonly reviewers?: readonly string[];
  readonly quorum?: number;
  readonly timeout?: string;
  readonly on_timeout?: "block" | "approve";
  /** How long an approval lives. */
  readonly approval_valid_for?: string;
  /** The name of the policy whose panel must be met before this one's turn comes. */
  readonly after?: string;
  /** The second tier: after a duration without enough approvals, these reviewers may meet the same panel. */
  readonly then?: { readonly after: string; readonly reviewers: readonly string[] };
  /** How fast approvals may be without a typed reason. */
  readonly pace?: Pace;
  /** The largest grant over what this policy holds. Absent: the policy permits no grants. */
  readonly grants?: { readonly times_max: number; readonly hours_max: number };
}

/** One test case of the policy. `facts` are fresh unless `as_of` says otherwise. */
export interface PolicyTestCase {
  readonly name: string;
  readonly now?: string;
  readonly mode?: "live" | "shadow" | "test";
  readonly human_reviewed?: boolean;
  readonly intent: Readonly<Record<string, unknown>>;
  readonly facts?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly as_of?: Readonly<Record<string, string>>;
  readonly expect: {
    readonly verdict?: "approve" | "approve_modified" | "escalate" | "block";
    readonly fired?: readonly string[];
    readonly risk?: number;
    readonly modified_content?: Readonly<Record<string, unknown>>;
    readonly unknown_facts?: readonly string[];
  };
}

/** A policy document that satisfies the schema. */
export interface PolicyDocument {
  readonly apiVersion: "countersign/v1";
  readonly kind: "Policy";
  readonly metadata: {
    readonly name: string;
    readonly title?: string;
    readonly description?: string;
    readonly tags?: readonly string[];
    readonly severity?: "low" | "medium" | "high" | "critical";
    readonly citations?: readonly string[];
    readonly effective_from?: string;
    readonly effective_until?: string;
  };
  readonly spec: {
    readonly match?: MatchPatterns & { readonly exclude?: MatchPatterns };
    readonly variables?: readonly { readonly name: string; readonly expr: string }[];
    readonly when?: string;
    readonly require?: string;
    readonly effect: Effect;
    readonly on_unknown?: OnUnknown;
    readonly risk?: { readonly add: number | string; readonly group?: string };
    readonly override?: OverrideClass;
    readonly facts_max_age?: Readonly<Record<string, string>>;
    readonly facts_from?: FactsFrom;
    readonly message?: string;
    readonly escalation?: EscalationSettings;
    readonly modify_when?: string;
    readonly modify?: readonly ModifyStep[];
    readonly suppresses?: readonly string[];
    readonly explain?: boolean;
  };
  readonly tests?: readonly PolicyTestCase[];
}
