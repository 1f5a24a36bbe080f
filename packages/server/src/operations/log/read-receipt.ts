/** Makes receipts, which others verify without the service (decision 0064). */
import type { Receipt } from "@countersign/contract";
import {
  canonicalJson,
  decisionForPeople,
  Fault,
  factsForPeople,
  intentForPeople,
  keyIdOf,
  maskingOfAction,
  parseCheckpoint,
  parseNote,
  type VerifierKey,
  verifierKeyText,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import { readAction } from "../../store/intents/intents.ts";
import { readLogKeys } from "../../store/log/log-keys.ts";
import { readWitnesses } from "../../store/log/log-witnesses.ts";
import { readCheckpoint } from "../../store/log/read-checkpoint.ts";
import { inclusionProofs, type ReceiptRow, readReceiptRows } from "../../store/log/read-receipt-entries.ts";
import { intentRecord, maySee, shownFacts } from "../intents/read-intents.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { verifierOf } from "./read-log.ts";

type Reading = Pick<Runtime, "db" | "timers"> & { readonly settings: Pick<Runtime["settings"], "log_witnesses"> };

const look_every_ms = 250;
const looks_max = 12;

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
  const withheld = await withheldFrom(query, caller, intent_id, decision);
  const indexes = rows.map(({ entry }) => entry);
  const signed = await noteOver(query, org_id, indexes.at(-1) ?? 0, witnesses.length > 0);
  if (signed === null) return null;
  const proofs = await inclusionProofs(query, org_id, indexes, signed.size);
  return {
    format: "countersign.receipt.v1",
    org_id,
    intent_id,
    ...(await signaturesOf(query, org_id, signed, witnesses)),
    entries: rows.map((row, at) => ({
      index: row.entry,
      leaf: row.leaf,
      proof: (proofs[at] ?? []).map((hash) => Buffer.from(hash).toString("base64")),
      documents: documentsOf(row, withheld),
    })),
  };
}

type Documents = Receipt["entries"][number]["documents"];

const documentOf = (text: string | null, salt: string | null) =>
  text === null || salt === null ? null : { salt, text };

function documentsOf(row: ReceiptRow, withheld: ReadonlySet<keyof Documents>): Documents {
  if (row.type !== "decided") return { data: documentOf(row.data, row.data_salt) };
  return {
    intent: withheld.has("intent") ? null : documentOf(row.intent, row.intent_salt),
    facts: withheld.has("facts") ? null : documentOf(row.facts, row.facts_salt),
    data: withheld.has("data") ? null : documentOf(row.data, row.data_salt),
  };
}

/**
 * Returns the documents of the decision with values that a rule hides from people. A receipt leaves the service, so it
 * has none of them even for the key that submitted them. Faults: not_found.
 */
async function withheldFrom(
  query: Query,
  caller: Caller,
  intent_id: string,
  { intent, facts, data }: ReceiptRow,
): Promise<ReadonlySet<keyof Documents>> {
  // Nothing is left to hide after an erasure.
  if (intent === null && facts === null && data === null) return new Set();
  const row = await readAction(query, caller.org_id, intent_id);
  if (row === undefined || !maySee(caller, row)) throw new Fault("not_found");
  const masking = maskingOfAction(row);
  const [record, used] = [intentRecord(row), shownFacts(caller, row.facts)];
  // Without members that are undefined.
  const plain = (value: unknown) => canonicalJson(JSON.parse(JSON.stringify(value)));
  const differ = (shown: unknown, whole: unknown) => plain(shown) !== plain(whole);
  const hides = {
    intent: record.withheld.length > 0 || differ(intentForPeople(record, masking), record),
    facts: differ(factsForPeople(used, masking), used),
    data: differ(decisionForPeople(row.decision, masking), row.decision),
  };
  return new Set((["intent", "facts", "data"] as const).filter((name) => hides[name]));
}

interface SignedHead {
  readonly note: string;
  readonly size: number;
}

/**
 * Returns the newest checkpoint over the entry that a witness cosigned, with all its cosignatures, otherwise the newest
 * checkpoint. Null: none covers the entry.
 */
async function noteOver(
  query: Query,
  org_id: string,
  entry: number,
  has_witnesses: boolean,
): Promise<SignedHead | null> {
  const newest = await readCheckpoint(query, org_id);
  if (newest === null || newest.size <= entry) return null;
  if (!has_witnesses) return newest;
  const cosigned = (await readWitnesses(query, org_id)).filter(({ size, line }) => size > entry && line !== null);
  const [best] = [...cosigned].sort((a, b) => b.size - a.size);
  if (best === undefined || best.note === null) return newest;
  const lines = cosigned.flatMap(({ note, line }) => (note === best.note ? [line] : []));
  return { note: `${best.note}${lines.join("")}`, size: best.size };
}

/** Leaves out signatures of unknown keys, because a verifier could not check them. */
async function signaturesOf(
  query: Query,
  org_id: string,
  { note: text }: SignedHead,
  witnesses: readonly VerifierKey[],
): Promise<Pick<Receipt, "checkpoint" | "keys">> {
  const note = parseNote(text);
  const head = note === null ? null : parseCheckpoint(note.text);
  if (note === null || head === null) throw new Error("the stored checkpoint is not a note");
  const own = (await readLogKeys(query, org_id)).map(({ public_key }) => verifierOf(head.origin, public_key));
  const known = [...own, ...witnesses];
  const signed = note.signatures.flatMap(({ name, key_id, line }) => {
    const key = known.find((each) => each.name === name && keyIdOf(each) === key_id);
    return key === undefined ? [] : [{ line, key: verifierKeyText(key) }];
  });
  return { checkpoint: `${note.text}\n${signed.map(({ line }) => line).join("")}`, keys: signed.map(({ key }) => key) };
}
