/**
 * Ledger entry format 1 (docs/decisions/0030-the-ledger.md), as in the database functions `ledger_leaf` and
 * `ledger_hash`.
 */
import { sha256Hex } from "../values/fingerprint.ts";

/** Without data. Ids contain letters, digits and underscores. */
export interface ChangeHeader {
  readonly audit_id: string;
  /** Null: not about one intent. */
  readonly intent_id: string | null;
  readonly type: string;
  readonly actor: string;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
}

/** Without documents. Ids contain letters, digits and underscores. */
export interface DecisionHeader {
  readonly intent_id: string;
  readonly decision_id: string;
  readonly membrane_id: string;
  readonly agent_id: string;
  /** The submitter. */
  readonly actor: string;
  readonly lineage_id: string | null;
  readonly mode: string;
  readonly verdict: string;
  readonly escalation_id: string | null;
  readonly override_id: string | null;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
}

/** Text, salt or commitment per document. `data` is the first answer. */
export interface OfDocuments {
  readonly intent: string;
  readonly facts: string;
  readonly data: string;
}

/**
 * Returns SHA-256 over the salt's hex digits and the text, as 64 hex digits. The salt prevents guessing the document.
 */
export function commitmentTo(salt: string, text: string): string {
  return sha256Hex(salt + text);
}

/** Canonical JSON (RFC 8785). */
export function changeLeaf(change: ChangeHeader, data_commitment: string): string {
  const { actor, at, audit_id, intent_id, type } = change;
  return `{"actor":${JSON.stringify(actor)},"at":"${at}","audit_id":"${audit_id}","data":"${data_commitment}","intent_id":${idOrNull(
    intent_id,
  )},"type":"${type}","v":1}`;
}

/** Canonical JSON (RFC 8785). */
export function decisionLeaf(decision: DecisionHeader, commitments: OfDocuments): string {
  const {
    actor,
    agent_id,
    at,
    decision_id,
    escalation_id,
    intent_id,
    lineage_id,
    membrane_id,
    mode,
    override_id,
    verdict,
  } = decision;
  return `{"actor":${JSON.stringify(actor)},"agent_id":${JSON.stringify(agent_id)},"at":"${at}","data":"${
    commitments.data
  }","decision_id":"${decision_id}","escalation_id":${idOrNull(escalation_id)},"facts":"${commitments.facts}","intent":"${
    commitments.intent
  }","intent_id":"${intent_id}","lineage_id":${idOrNull(lineage_id)},"membrane_id":"${membrane_id}","mode":"${mode}","override_id":${idOrNull(
    override_id,
  )},"type":"decided","v":1,"verdict":"${verdict}"}`;
}

/** Returns SHA-256 over a zero byte and the leaf, as 64 hex digits (RFC 9162 leaf hash). */
export function leafHash(leaf: string): string {
  return sha256Hex(`\0${leaf}`);
}

/** `data` is JSON text. */
export function changeHash(change: ChangeHeader, data: string, salt: string): string {
  return leafHash(changeLeaf(change, commitmentTo(salt, data)));
}

/** Documents are JSON texts. */
export function decisionHash(decision: DecisionHeader, documents: OfDocuments, salts: OfDocuments): string {
  return leafHash(
    decisionLeaf(decision, {
      intent: commitmentTo(salts.intent, documents.intent),
      facts: commitmentTo(salts.facts, documents.facts),
      data: commitmentTo(salts.data, documents.data),
    }),
  );
}

function idOrNull(id: string | null): string {
  return id === null ? "null" : `"${id}"`;
}
