/** The rules are in schema.ts and check.ts. */
import type { Confirm, FactsFrom, Pace } from "@countersign/contract";
import type { AfterDocument, CounterDocument } from "../counters/definition.ts";

/** `none` only adds risk. */
export type Effect = "block" | "escalate" | "approve_modified" | "none";

export type OnUnknown = "fire" | "escalate" | "block" | "skip";

export type OverrideClass = "reviewer" | "two_person" | "never";

/** `mask` changes only what people see. */
export type ModifyOp = "remove" | "redact" | "mask" | "set" | "cap" | "floor";

/** Exact names, or a prefix and `*`. Empty or absent lists match everything. */
export interface MatchPatterns {
  readonly actions?: readonly string[];
  readonly verbs?: readonly string[];
  readonly agents?: readonly string[];
}

/** `path` is a JSON Pointer; `*` names all entries for `remove`, `redact` and `mask`. `value` is CEL. */
export interface ModifyStep {
  readonly op: ModifyOp;
  readonly path: string;
  readonly value?: string;
}

/** The membrane supplies absent terms. */
export interface EscalationSettings {
  readonly reviewers?: readonly string[];
  readonly quorum?: number;
  readonly timeout?: string;
  readonly on_timeout?: "block" | "approve";
  readonly approval_valid_for?: string;
  /** The policy whose panel must approve first. */
  readonly after?: string;
  /** The second tier may also approve after this duration. */
  readonly then?: { readonly after: string; readonly reviewers: readonly string[] };
  readonly pace?: Pace;
  readonly confirm?: Confirm;
  /** Absent: no grants. */
  readonly grants?: { readonly times_max: number; readonly hours_max: number };
}

/** `facts` are fresh unless `as_of` says otherwise. */
export interface PolicyTestCase {
  readonly name: string;
  readonly now?: string;
  readonly mode?: "live" | "shadow" | "test";
  readonly human_reviewed?: boolean;
  readonly intent: Readonly<Record<string, unknown>>;
  readonly facts?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly as_of?: Readonly<Record<string, string>>;
  /** Sums of earlier actions, by the name of a counter. Default: nothing. */
  readonly counts?: Readonly<Record<string, { readonly n?: number; readonly sum?: number }>>;
  /** Earlier actions, by the name of an `after`. Default: none. */
  readonly after?: Readonly<Record<string, { readonly id: string; readonly at: string }>>;
  readonly expect: {
    readonly verdict?: "approve" | "approve_modified" | "escalate" | "block";
    readonly fired?: readonly string[];
    readonly risk?: number;
    readonly modified_content?: Readonly<Record<string, unknown>>;
    readonly unknown_facts?: readonly string[];
  };
}

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
    readonly counters?: readonly CounterDocument[];
    readonly after?: readonly AfterDocument[];
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
