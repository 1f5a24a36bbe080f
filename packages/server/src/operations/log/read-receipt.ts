/** Makes receipts, which others verify without the service (decision 0064). */
import type { Receipt } from "@countersign/contract";
import { canonicalJson, Fault, type VerifierKey } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readAction } from "../../store/intents/intents.ts";
import {
  inclusionProofs,
  type ReceiptRow,
  readReceiptRows,
  readRegistrations,
} from "../../store/log/read-receipt-entries.ts";
import { maySee } from "../intents/read-intents.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import {
  headOver,
  isErased,
  look_every_ms,
  looks_max,
  passkeysOf,
  receiptFrom,
  signedVotes,
  type Withheld,
  withheldFrom,
} from "./receipt-parts.ts";

type Reading = Pick<Runtime, "db" | "timers"> & { readonly settings: Pick<Runtime["settings"], "log_witnesses"> };

/**
 * Returns the receipt as canonical JSON. Waits up to 3 s for a checkpoint over its newest entry. Documents with values
 * that a rule hides from people are left out. Faults: not_found, receipt_not_ready.
 */
export async function readReceipt(runtime: Reading, caller: Caller, intent_id: string): Promise<string> {
  return canonicalJson(await receiptOf(runtime, caller, intent_id));
}

/** Returns the C2SP tlog-proof of the decision's entry, with the leaf as extra data. Faults: as `readReceipt`. */
export async function readTlogProof(runtime: Reading, caller: Caller, intent_id: string): Promise<string> {
  const { entries, checkpoint } = await receiptOf(runtime, caller, intent_id);
  const [decision] = entries;
  if (decision === undefined) throw new Error("a receipt without its decision");
  const { leaf, index, proof } = decision;
  const extra = Buffer.from(leaf).toString("base64");
  return ["c2sp.org/tlog-proof@v1", `extra ${extra}`, `index ${index}`, ...proof, "", checkpoint].join("\n");
}

async function receiptOf({ db, timers, settings }: Reading, caller: Caller, intent_id: string): Promise<Receipt> {
  for (let look = 0; ; look += 1) {
    const receipt = await db.tenant(caller.org_id, (query) =>
      receiptNow(query, caller, intent_id, settings.log_witnesses),
    );
    if (receipt !== null) return receipt;
    if (look === looks_max) throw new Fault("receipt_not_ready");
    await new Promise<void>((resolve) => void timers.after(look_every_ms, resolve));
  }
}

/** Null: no checkpoint covers the newest entry. */
async function receiptNow(
  query: Query,
  caller: Caller,
  intent_id: string,
  witnesses: readonly VerifierKey[],
): Promise<Receipt | null> {
  const { org_id } = caller;
  const rows = await readReceiptRows(query, org_id, intent_id);
  const [decision] = rows;
  if (decision?.type !== "decided") throw new Fault("not_found");
  const withheld = await withheldNow(query, caller, decision);
  const passkeys = passkeysOf(rows, await readRegistrations(query, org_id, signedVotes(rows)));
  const head = await headOver(query, org_id, rows.at(-1)?.entry ?? 0, witnesses);
  if (head === null) return null;
  const indexes = [...rows, ...passkeys].map(({ entry }) => entry);
  const proofs = await inclusionProofs(query, org_id, indexes, head.size);
  return receiptFrom(org_id, head, { rows, passkeys, withheld }, proofs);
}

/** Faults: not_found. */
async function withheldNow(query: Query, caller: Caller, decision: ReceiptRow): Promise<Withheld> {
  if (isErased(decision)) return new Set();
  const row = await readAction(query, caller.org_id, decision.intent_id);
  if (row === undefined || !maySee(caller, row)) throw new Fault("not_found");
  return withheldFrom(caller, row, decision);
}
