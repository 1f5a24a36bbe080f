/** The rows that a decision is committed as, the possible outcomes, and the writer that commits them. */

import { type DecisionHeader, decisionHash, type OfDocuments } from "@countersign/core";
import type { Ids } from "../../ports.ts";
import type { Epochs } from "../organizations/epochs.ts";

/**
 * A decision as the ledger has it, without its place. Documents are JSON texts and come back byte for byte. Decision 0030 has the
 * format of `hash`.
 */
export interface DecisionEntry extends DecisionHeader {
  readonly mode: "live" | "shadow" | "test";
  readonly verdict: "approve" | "approve_modified" | "escalate" | "block";
  /** The override that this approval rests on: it is spent with it, or nothing is written. Null: none. */
  readonly override_id: string | null;
  /** Its month is the one that a live decision counts in. */
  readonly at: string;
  /** 64 lower-case hex digits; null: it was approved, and no override or review of the same action can rest on it. */
  readonly fingerprint: string | null;
  /** As submitted. */
  readonly intent: string;
  /** As decided on. */
  readonly facts: string;
  /** The first answer. */
  readonly decision: string;
  /** Of intent, facts and decision: 32 lower-case hex digits each. */
  readonly salts: OfDocuments;
  /** 64 lower-case hex digits. */
  readonly hash: string;
}

/** Gives a decision its salts and its hash. Each member is named: a copy by spread was 16 % of the way from body to record. */
export function decisionEntry(ids: Ids, decision: Omit<DecisionEntry, "salts" | "hash">): DecisionEntry {
  const { intent, facts, decision: data } = decision;
  const salts = { intent: ids.salt(), facts: ids.salt(), data: ids.salt() };
  return {
    intent_id: decision.intent_id,
    decision_id: decision.decision_id,
    membrane_id: decision.membrane_id,
    agent_id: decision.agent_id,
    actor: decision.actor,
    lineage_id: decision.lineage_id,
    mode: decision.mode,
    verdict: decision.verdict,
    escalation_id: decision.escalation_id,
    override_id: decision.override_id,
    at: decision.at,
    fingerprint: decision.fingerprint,
    intent,
    facts,
    decision: data,
    salts,
    hash: decisionHash(decision, { intent, facts, data }, salts),
  };
}

/** A new escalation; intent, decision, agent and creation time are those of the decision it comes with. */
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
  readonly entry: DecisionEntry;
  readonly escalation: EscalationRow | null;
  readonly events: readonly EventRow[];
  readonly idempotency: IdempotencyRow | null;
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
