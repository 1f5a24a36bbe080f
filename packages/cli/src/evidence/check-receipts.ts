/** Verifies the receipts of an archive. */
import { hash } from "node:crypto";
import { canonicalJson } from "@countersign/core";
import { verifyReceipt } from "@countersign/sdk/verify";
import type { Checking } from "./checking.ts";
import { names, receiptName } from "./layout.ts";

/** Members of the leaf of a decision. Other files of the archive must agree with them. */
export interface DecisionLeaf {
  readonly index: number;
  readonly decision_id: string;
  readonly agent_id: string;
  readonly membrane_id: string;
  readonly mode: string;
  readonly verdict: string;
  readonly actor: string;
  readonly at: string;
  /** SHA-256 of what the agent submitted. Null: the receipt withholds it, or it was erased. */
  readonly submitted: string | null;
}

export interface CheckedReceipts {
  count: number;
  held: number;
  /** The decisions of receipts that hold, by intent. */
  readonly decisions: Map<string, DecisionLeaf>;
  /** The common checkpoint. Null: no receipt holds. */
  checkpoint: string | null;
}

export function startReceipts(): CheckedReceipts {
  return { count: 0, held: 0, decisions: new Map(), checkpoint: null };
}

/** `bytes` null: the file could not be read, or is too large. */
export async function checkReceipt(
  { terms, problems, manifest, isIn }: Checking,
  receipts: CheckedReceipts,
  intent_id: string,
  bytes: Buffer | null,
): Promise<void> {
  const name = receiptName(intent_id);
  receipts.count += 1;
  if (bytes === null) return problems.add(`${name} cannot be verified`);
  const verdict = await verifyReceipt(bytes, terms);
  if (!verdict.ok) return problems.add(`${name}: ${verdict.reason} (check: ${verdict.check})`);
  const { org_id, checkpoint } = JSON.parse(bytes.toString("utf8")) as { org_id: string; checkpoint: string };
  const [decision] = verdict.entries;
  receipts.checkpoint ??= checkpoint;
  if (verdict.intent_id !== intent_id) return problems.add(`${name} is the receipt of ${verdict.intent_id}`);
  if (org_id !== manifest.org_id) return problems.add(`${name} is of the organization ${org_id}`);
  if (checkpoint !== receipts.checkpoint) return problems.add(`${name} has another checkpoint than the other receipts`);
  if (decision === undefined || !isIn(decision.at))
    return problems.add(`${name} is of a decision outside of the period`);
  const leaf = decision.leaf as unknown as DecisionLeaf;
  const { decision_id, agent_id, membrane_id, mode, verdict: answer, actor, at } = leaf;
  const submitted = submittedHash(decision.documents["intent"]?.["submitted"]);
  receipts.decisions.set(intent_id, {
    ...{ index: decision.index, decision_id, agent_id, membrane_id, mode, verdict: answer, actor, at, submitted },
  });
  receipts.held += 1;
}

/** Returns the hash of the members that both a receipt and an exported decision have. Null: there is no such object. */
export function submittedHash(intent: unknown): string | null {
  if (typeof intent !== "object" || intent === null) return null;
  const { agent, action, payload, estimated_impact, data_classes } = intent as Readonly<Record<string, unknown>>;
  // Without members that are undefined.
  const members = JSON.parse(JSON.stringify({ agent, action, payload, estimated_impact, data_classes }));
  return hash("sha256", canonicalJson(members));
}

/** The checkpoint of the receipts must be that of the archive. */
export function checkCommonHead({ problems }: Checking, receipts: CheckedReceipts, text: string | undefined): void {
  if (receipts.checkpoint !== null && text !== undefined && receipts.checkpoint !== text)
    problems.add(`the receipts have another checkpoint than ${names.checkpoint}`);
}
