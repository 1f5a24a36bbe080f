/** The rows that a decision is committed as, the possible outcomes, and the writer that commits them. */

import type { AuditRow } from "../audit/audit.ts";
import type { Epochs } from "../organizations/epochs.ts";

/** The verdict and the documents of one submission. Documents are JSON text and come back byte for byte. */
export interface IntentRow {
  readonly intent_id: string;
  readonly decision_id: string;
  readonly membrane_id: string;
  readonly agent_id: string;
  /** null: open mode. */
  readonly key_id: string | null;
  readonly lineage_id: string | null;
  readonly mode: "live" | "shadow" | "test";
  readonly verdict: "approve" | "approve_modified" | "escalate" | "block";
  readonly status: "final" | "pending";
  readonly escalation_id: string | null;
  /** 64 lower-case hex digits; null: it was approved, and no override or review of the same action can rest on it. */
  readonly fingerprint: string | null;
  /** JSON text, as submitted. */
  readonly intent: string;
  /** JSON text, as decided on. */
  readonly facts: string;
  /** JSON text, the first answer. */
  readonly decision: string;
  /** RFC 3339 UTC with six fractional digits and `Z`; its month is the one that a live decision counts in. */
  readonly created_at: string;
}

/** A new escalation; intent, decision, agent and creation time are those of the intent row it comes with. */
export interface EscalationRow {
  readonly escalation_id: string;
  readonly mode: "live" | "test";
  readonly status: "pending" | "decided" | "timed_out" | "cancelled";
  /** JSON text, the escalation record of api.md §6. */
  readonly record: string;
  /** JSON text, the `CountedDemand` list of the review. */
  readonly demands: string;
  readonly expires_at: string;
}

/** Something webhooks are told. Stored only while the organization has an active webhook. */
export interface EventRow {
  readonly event_id: string;
  readonly event_type: string;
  readonly intent_id: string | null;
  readonly decision_id: string | null;
  readonly escalation_id: string | null;
  /** JSON text, the body of contract §2.5 without `webhook_id`. */
  readonly body: string;
  readonly created_at: string;
}

/** The caller's promise that this is one request however often it is sent. */
export interface IdempotencyRow {
  readonly operation: string;
  readonly idempotency_key: string;
  /** 64 lower-case hex digits. */
  readonly request_sha256: string;
}

/** Everything one decision writes: all of it or nothing. */
export interface DecisionRows {
  readonly org_id: string;
  /** What the decision was computed under; any difference in the database makes it stale. */
  readonly epochs: Epochs;
  readonly intent: IntentRow;
  readonly escalation: EscalationRow | null;
  /** At least one, all about this intent, in order: submitted, decided, escalated … */
  readonly audit: readonly AuditRow[];
  readonly events: readonly EventRow[];
  readonly idempotency: IdempotencyRow | null;
  /** The override that this approval rests on: it is spent with it, or nothing is written. Null: none. */
  readonly override_id: string | null;
}

/**
 * What came of one row set. Only `committed` wrote anything; the others are decided in this order:
 * `stale` (decide again under these epochs), `duplicate` (the idempotency key is taken: replay or refuse),
 * `override_spent` (the override is spent, revoked or over: decide again without it), `quota_exceeded` (the month's live
 * decisions are used up).
 */
export type CommitOutcome =
  | { readonly outcome: "committed" }
  | { readonly outcome: "stale"; readonly epochs: Epochs }
  | { readonly outcome: "duplicate"; readonly intent_id: string; readonly request_sha256: string }
  | { readonly outcome: "override_spent" }
  | {
      readonly outcome: "quota_exceeded";
      /** `YYYY-MM`, the month that is used up. */
      readonly period: string;
      readonly used: number;
      readonly hard_limit: number;
      /** False: `quota.exceeded` was not yet sent in this period; see operations/announce-quota-exceeded.ts. */
      readonly announced: boolean;
    };

/** Commits the row sets of concurrent requests with few statements. */
export interface CommitWriter {
  /**
   * Resolves when the outcome is on disk. Faults: overloaded (the queue is full, nothing was written), unavailable (the
   * database was away until the deadline; the outcome is unknown, and a retry with the same idempotency key is safe).
   * Rejects with another error if the database refuses this row set; then nothing was written.
   */
  commit(rows: DecisionRows): Promise<CommitOutcome>;
  /** Resolves when every earlier commit is answered. */
  settle(): Promise<void>;
  /** Settles, then ends the sessions. A later `commit` rejects with Fault `unavailable`. */
  close(): Promise<void>;
  /** Returns the number of row sets that are queued or in flight. */
  depth(): number;
}
