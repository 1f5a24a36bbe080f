/** Receipts of a made log, and their parts. */
import { canonicalJson, changeLeaf, commitmentTo, decisionLeaf } from "@countersign/core";
import { inclusionPath, rootOf } from "./naive-tree.ts";
import { logSigner, type Signer, sha256, witnessSigner } from "./signing.ts";

interface Document {
  readonly salt: string;
  readonly text: string;
}

export interface Entry {
  readonly index: number;
  readonly leaf: string;
  readonly proof: readonly string[];
  readonly documents: Readonly<Record<string, Document | null>>;
}

export interface Receipt {
  readonly format: string;
  readonly org_id: string;
  readonly intent_id: string;
  readonly checkpoint: string;
  readonly keys: readonly string[];
  readonly entries: readonly Entry[];
  readonly passkeys?: readonly Entry[];
}

export const org_id = "org_01KAAAAAAAAAAAAAAAAAAAAAAA";
const intent_id = "int_01KAAAAAAAAAAAAAAAAAAAAAAA";
const decision_id = "dec_01KAAAAAAAAAAAAAAAAAAAAAAA";
export const origin = `countersign.example/${org_id}`;
export const log = logSigner(origin, "log");
export const next_log = logSigner(origin, "log after the rotation");
export const stranger = logSigner(origin, "stranger");
export const witness = witnessSigner("witness.example/w1", "witness");
const other_witness = witnessSigner("witness.example/w2", "other witness");
const cosigned_at = 1_795_868_000;

export const documentOf = (name: string, value: unknown): Document => ({
  salt: sha256(name).toString("hex").slice(0, 32),
  text: canonicalJson(value),
});

export interface Recorded {
  readonly leaf: string;
  readonly documents: Entry["documents"];
}

export function decision(verdict: string, answer: object = {}, of = intent_id): Recorded {
  const documents = {
    intent: documentOf("intent", {
      submitted: {
        agent: { id: 'zähler "7"' },
        action: { type: "payment.transfer", verb: "send_money" },
        payload: { content: { amount_usd: 1200.5, recipient: "Müller & Söhne 😀" } },
      },
      decided_as: { type: "payment.transfer", data_classes: [] },
      attested: false,
    }),
    facts: documentOf("facts", { origins: [], entity_state: { account_status: ["active", 0] } }),
    data: documentOf("data", { decision_id, verdict, outcome: verdict, reasons: [], ...answer }),
  };
  const header = {
    actor: "key_01KAAAAAAAAAAAAAAAAAAAAAAA",
    agent_id: 'zähler "7"',
    at: "2026-11-28T12:00:00.123456Z",
    decision_id,
    escalation_id: verdict === "escalate" ? "esc_01KAAAAAAAAAAAAAAAAAAAAAAA" : null,
    intent_id: of,
    lineage_id: "key_01KAAAAAAAAAAAAAAAAAAAAAAA",
    membrane_id: "mem_01KAAAAAAAAAAAAAAAAAAAAAAA",
    mode: "live",
    override_id: null,
    verdict,
  };
  const { intent, facts, data } = documents;
  return {
    documents,
    leaf: decisionLeaf(header, {
      intent: commitmentTo(intent.salt, intent.text),
      facts: commitmentTo(facts.salt, facts.text),
      data: commitmentTo(data.salt, data.text),
    }),
  };
}

export function change(type: string, actor: string, data: object, of: string | null = intent_id): Recorded {
  const document = documentOf(type, data);
  const at = "2026-11-28T12:05:00.000000Z";
  const header = { actor, at, audit_id: "aud_01KAAAAAAAAAAAAAAAAAAAAAAA", intent_id: of, type };
  return { documents: { data: document }, leaf: changeLeaf(header, commitmentTo(document.salt, document.text)) };
}

/** A log of `size` entries. Those that are not given are about something else. */
export function logOf(size: number, given: Readonly<Record<number, Recorded>>): string[] {
  return Array.from(
    { length: size },
    (_, index) => given[index]?.leaf ?? change("key_created", "system", { index }, null).leaf,
  );
}

export const base64 = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString("base64"));

export function checkpointOf(
  leaves: readonly string[],
  signers: readonly Signer[],
  of = origin,
  head = rootOf(leaves),
): string {
  const body = `${of}\n${leaves.length}\n${head.toString("base64")}\n`;
  return `${body}\n${signers.map(({ line }) => line(body, cosigned_at)).join("")}`;
}

export function receiptOf(
  leaves: readonly string[],
  given: Readonly<Record<number, Recorded>>,
  signers: readonly Signer[],
): Receipt {
  return {
    format: "countersign.receipt.v1",
    org_id,
    intent_id,
    checkpoint: checkpointOf(leaves, signers),
    keys: signers.map(({ verifier_key }) => verifier_key),
    entries: Object.entries(given).map(([index, { leaf, documents }]) => ({
      index: Number(index),
      leaf,
      documents,
      proof: base64(inclusionPath(Number(index), leaves)),
    })),
  };
}

export type Forge = readonly [
  name: string,
  change: (receipt: Receipt) => Receipt | string,
  check: string,
  entry?: number,
];

export const withEntry = (receipt: Receipt, at: number, changed: object): Receipt => ({
  ...receipt,
  entries: receipt.entries.map((entry, each) => (each === at ? { ...entry, ...changed } : entry)),
});

export const blocked = decision("block");
export const single: Readonly<Record<number, Recorded>> = { 0: blocked };
export const singleReceipt = receiptOf(logOf(1, single), single, [log]);

export const reviewed: Readonly<Record<number, Recorded>> = {
  5: decision("escalate"),
  6: change("voted", "usr_01KAAAAAAAAAAAAAAAAAAAAAAA", { outcome: "approve", comment: "checked by phone" }),
  90: change("reviewed", "usr_01KAAAAAAAAAAAAAAAAAAAAAAA", { status: "decided", outcome: "approve" }),
  255: change("claimed", "key_01KAAAAAAAAAAAAAAAAAAAAAAA", { nonce_sha256: "00" }),
  256: change("observed", "key_01KAAAAAAAAAAAAAAAAAAAAAAA", { status: "executed", detail: {} }),
};
export const reviewedLog = logOf(300, reviewed);
export const reviewedSigners = [log, next_log, witness, other_witness];
export const reviewedReceipt = receiptOf(reviewedLog, reviewed, reviewedSigners);
