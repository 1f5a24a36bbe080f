/**
 * The format of ledger entries, version 1: what the hash of an entry is over. Decision 0030 has it with examples. The database has the
 * same in its functions `ledger_leaf` and `ledger_hash`.
 */
import { sha256Hex } from "../values/fingerprint.ts";

/** A change other than a decision, without what it says. Ids consist of letters, digits and underscores. */
export interface ChangeHeader {
  readonly audit_id: string;
  /** Null: not about one intent. */
  readonly intent_id: string | null;
  readonly type: string;
  readonly actor: string;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
}

/** A decision without its documents. Ids consist of letters, digits and underscores. */
export interface DecisionHeader {
  readonly intent_id: string;
  readonly decision_id: string;
  readonly membrane_id: string;
  readonly agent_id: string;
  /** Who submitted the intent. */
  readonly actor: string;
  readonly lineage_id: string | null;
  readonly mode: string;
  readonly verdict: string;
  readonly escalation_id: string | null;
  readonly override_id: string | null;
  /** RFC 3339 UTC with six fractional digits and `Z`. */
  readonly at: string;
}

/** One value for each document of a decision: its text, its salt or the commitment to it. `data` is the first answer. */
export interface OfDocuments {
  readonly intent: string;
  readonly facts: string;
  readonly data: string;
}

/**
 * Returns the commitment to a document: SHA-256 over the salt's hex digits and the text, in 64 hex digits. Without the salt nobody can
 * find the document by trying likely texts.
 */
export function commitmentTo(salt: string, text: string): string {
  return sha256Hex(salt + text);
}

/** The leaf of a change: canonical JSON (RFC 8785). */
export function changeLeaf(change: ChangeHeader, data_commitment: string): string {
  const { actor, at, audit_id, intent_id, type } = change;
  return `{"actor":${JSON.stringify(actor)},"at":"${at}","audit_id":"${audit_id}","data":"${data_commitment}","intent_id":${idOrNull(
    intent_id,
  )},"type":"${type}","v":1}`;
}

/** The leaf of a decision: canonical JSON (RFC 8785). */
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

/** Returns the hash of an entry, 64 hex digits: SHA-256 over a zero byte and the leaf. That is the leaf hash of RFC 9162. */
export function leafHash(leaf: string): string {
  return sha256Hex(`\0${leaf}`);
}

/** Returns the hash of a change. `data` is JSON text. */
export function changeHash(change: ChangeHeader, data: string, salt: string): string {
  return leafHash(changeLeaf(change, commitmentTo(salt, data)));
}

/** Returns the hash of a decision. Documents are JSON texts. */
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
