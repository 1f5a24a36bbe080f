import { type DecisionHeader, decisionHash, type OfDocuments } from "@countersign/core";
import type { Ids } from "../../ports.ts";
import type { Epochs } from "../organizations/epochs.ts";

/** A decision in the ledger. Documents are JSON texts, stored byte for byte. Decision 0030 has the format of `hash`. */
export interface DecisionEntry extends DecisionHeader {
  readonly mode: "live" | "shadow" | "test";
  readonly verdict: "approve" | "approve_modified" | "escalate" | "block";
  /** The override that this approval spends, or null. */
  readonly override_id: string | null;
  /** A live decision counts in this month. */
  readonly at: string;
  /** 64 lower-case hex digits. Null: approved, so no override or review needs it. */
  readonly fingerprint: string | null;
  readonly intent: string;
  /** The facts that the decision used. */
  readonly facts: string;
  /** The first answer. */
  readonly decision: string;
  /** 32 lower-case hex digits each. */
  readonly salts: OfDocuments;
  /** 64 lower-case hex digits. */
  readonly hash: string;
}

/** Adds salts and hash. Names each member, because a copy by spread took 16 % of a request's time. */
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

/** A new escalation. Intent, agent and creation time come from its decision. */
export interface EscalationRow {
  readonly escalation_id: string;
  readonly mode: "live" | "test";
  readonly status: "pending" | "decided" | "timed_out" | "cancelled";
  readonly record: string;
  /** A JSON list of `CountedDemand`. */
  readonly demands: string;
  readonly expires_at: string;
}

/** A webhook event. Stored only if the organization has an active webhook. */
export interface EventRow {
  readonly event_id: string;
  readonly event_type: string;
  readonly intent_id: string | null;
  readonly decision_id: string | null;
  readonly escalation_id: string | null;
  /** Of an event without an intent. Webhooks filter by it, and by the mode `live`. */
  readonly membrane_id?: string;
  /** JSON text of the body without `webhook_id`. Source: spec §2.5. */
  readonly body: string;
  readonly created_at: string;
}

export interface IdempotencyRow {
  readonly operation: string;
  readonly idempotency_key: string;
  /** 64 lower-case hex digits. */
  readonly request_sha256: string;
}

/** How a decision reads or changes one key of a counter. */
export interface CountRow {
  readonly name: string;
  /** Canonical JSON of the key. */
  readonly key: string;
  /** 32 hex digits. */
  readonly key_sha: string;
  /** Names the newest entry that the decision read, or expects of decisions of this node that are on their way. Null: none. */
  readonly last_id: string | null;
  /** The entry that the decision adds. Null: it only read. */
  readonly entry: {
    /** Millionths; null: no usable amount. */
    readonly micros: number | null;
    /** JSON text; null: no values. */
    readonly vals: string | null;
    /** RFC 3339: when the entry stops counting. */
    readonly ends_at: string;
  } | null;
}

export interface DecisionRows {
  readonly org_id: string;
  /** The epochs the decision was computed under. If the database has others, the decision is stale. */
  readonly epochs: Epochs;
  readonly entry: DecisionEntry;
  readonly escalation: EscalationRow | null;
  readonly events: readonly EventRow[];
  readonly idempotency: IdempotencyRow | null;
  /** The keys of counters that the decision read or adds to. Each key once. */
  readonly counts: readonly CountRow[];
}

/**
 * Only `committed` wrote anything. The checks run in this order:
 *
 * - `stale`: decide again under these epochs.
 * - `duplicate`: the idempotency key is taken; replay or refuse.
 * - `override_spent`: the override is spent, revoked or expired; decide again without it.
 * - `counted`: a key of a counter has changed since the decision read it; read it and decide again.
 * - `quota_exceeded`: the month's live decisions are used up.
 */
export type CommitOutcome =
  | { readonly outcome: "committed" }
  | { readonly outcome: "stale"; readonly epochs: Epochs }
  | { readonly outcome: "duplicate"; readonly intent_id: string; readonly request_sha256: string }
  | { readonly outcome: "override_spent" }
  | { readonly outcome: "counted" }
  | {
      readonly outcome: "quota_exceeded";
      /** `YYYY-MM`. */
      readonly period: string;
      readonly used: number;
      readonly hard_limit: number;
      /** False: `quota.exceeded` was not yet sent in this period. */
      readonly announced: boolean;
    };

export interface CommitWriter {
  /**
   * Resolves when the outcome is on disk. Rejects with another error if the database refuses the row set; nothing was
   * written.
   *
   * Faults: overloaded (the queue is full, nothing was written), unavailable (no answer before the deadline; the
   * outcome is unknown, and a retry with the same idempotency key is safe).
   */
  commit(rows: DecisionRows): Promise<CommitOutcome>;
  /** Resolves when every earlier commit is answered. */
  settle(): Promise<void>;
  /** Settles, then ends the sessions. A later `commit` rejects with Fault `unavailable`. */
  close(): Promise<void>;
  /** Row sets in the queue or in flight. */
  depth(): number;
}
