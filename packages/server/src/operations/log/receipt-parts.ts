/** The parts of receipts (decision 0064). */
import type { Receipt } from "@countersign/contract";
import {
  canonicalJson,
  decisionForPeople,
  factsForPeople,
  factsOf,
  intentForPeople,
  keyIdOf,
  maskingOfAction,
  parseCheckpoint,
  parseNote,
  type TreeHash,
  type VerifierKey,
  verifierKeyText,
} from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { DecidedIntent } from "../../store/intents/intents.ts";
import { readLogKeys } from "../../store/log/log-keys.ts";
import { readWitnesses } from "../../store/log/log-witnesses.ts";
import { readCheckpoint } from "../../store/log/read-checkpoint.ts";
import type { ReceiptRow, SignedVote } from "../../store/log/read-receipt-entries.ts";
import type { RecordedConfirmation } from "../escalations/confirmations/confirm-vote.ts";
import { intentRecord, shownFacts } from "../intents/read-intents.ts";
import type { Caller } from "../shared/caller.ts";
import { verifierOf } from "./read-log.ts";

/** How often, and how many times, a receipt looks for a checkpoint over its newest entry: for 3 s. */
export const look_every_ms = 250;
export const looks_max = 12;

/** The checkpoint of a receipt, and the verifier keys of its signatures. */
export interface ReceiptHead extends Pick<Receipt, "checkpoint" | "keys"> {
  readonly size: number;
}

export type Withheld = ReadonlySet<keyof Documents>;

type Documents = Receipt["entries"][number]["documents"];

export interface ReceiptContent {
  readonly rows: readonly ReceiptRow[];
  /** Registrations of the passkeys that signed rulings, in the order of the log. */
  readonly passkeys: readonly ReceiptRow[];
  /** Documents of the decision. */
  readonly withheld: Withheld;
}

/** `proofs` are those of the rows, then of the passkeys. */
export function receiptFrom(
  org_id: string,
  { checkpoint, keys }: ReceiptHead,
  { rows, passkeys, withheld }: ReceiptContent,
  proofs: readonly (readonly TreeHash[])[],
): Receipt {
  const [decision] = rows;
  const entryOf = (row: ReceiptRow, at: number) => ({
    index: row.entry,
    leaf: row.leaf,
    proof: (proofs[at] ?? []).map((hash) => Buffer.from(hash).toString("base64")),
    documents: documentsOf(row, withheld),
  });
  if (decision?.type !== "decided") throw new Error("a receipt without its decision");
  return {
    format: "countersign.receipt.v1",
    org_id,
    intent_id: decision.intent_id,
    checkpoint,
    keys: [...keys],
    entries: rows.map(entryOf),
    ...(passkeys.length === 0 ? {} : { passkeys: passkeys.map((row, at) => entryOf(row, rows.length + at)) }),
  };
}

/** Returns the votes whose rulings a passkey signed (decision 0067). */
export function signedVotes(rows: readonly ReceiptRow[]): SignedVote[] {
  return rows.flatMap(({ entry, type, data }) => {
    if (type !== "voted" || data === null) return [];
    const vote = JSON.parse(data) as { readonly person: string; readonly confirmation?: RecordedConfirmation };
    if (vote.confirmation === undefined || "totp" in vote.confirmation) return [];
    return [{ person: vote.person, passkey_id: vote.confirmation.passkey.credential_id, entry }];
  });
}

/** `registrations` are by the entry of the vote. */
export function passkeysOf(
  rows: readonly ReceiptRow[],
  registrations: ReadonlyMap<number, ReceiptRow>,
): readonly ReceiptRow[] {
  const found = rows.flatMap(({ entry }) => registrations.get(entry) ?? []);
  return [...new Map(found.map((row) => [row.entry, row])).values()].sort((a, b) => a.entry - b.entry);
}

const documentOf = (text: string | null, salt: string | null) =>
  text === null || salt === null ? null : { salt, text };

function documentsOf(row: ReceiptRow, withheld: Withheld): Documents {
  if (row.type !== "decided") return { data: documentOf(row.data, row.data_salt) };
  return {
    intent: withheld.has("intent") ? null : documentOf(row.intent, row.intent_salt),
    facts: withheld.has("facts") ? null : documentOf(row.facts, row.facts_salt),
    data: withheld.has("data") ? null : documentOf(row.data, row.data_salt),
  };
}

/** Nothing is left to hide after an erasure. */
export function isErased({ intent, facts, data }: ReceiptRow): boolean {
  return intent === null && facts === null && data === null;
}

/**
 * Returns the documents of the decision with values that a rule hides from people. A receipt leaves the service, so it
 * has none of them even for the key that submitted them.
 */
export function withheldFrom(caller: Caller, row: Omit<DecidedIntent, "execution">, decision: ReceiptRow): Withheld {
  if (isErased(decision)) return new Set();
  const masking = maskingOfAction(row);
  const record = intentRecord(row);
  const facts = decision.facts === null ? {} : factsOf(JSON.parse(decision.facts));
  if (facts === null) throw new Error(`the facts of ${row.intent_id} are stored in an unknown form`);
  const used = shownFacts(caller, facts);
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

/**
 * Returns the newest checkpoint over the entry that a witness cosigned, with all its cosignatures, otherwise the newest
 * checkpoint. Null: none covers the entry.
 */
export async function headOver(
  query: Query,
  org_id: string,
  entry: number,
  witnesses: readonly VerifierKey[],
): Promise<ReceiptHead | null> {
  const newest = await readCheckpoint(query, org_id);
  if (newest === null || newest.size <= entry) return null;
  if (witnesses.length === 0) return signaturesOf(query, org_id, newest, witnesses);
  const cosigned = (await readWitnesses(query, org_id)).filter(({ size, line }) => size > entry && line !== null);
  const [best] = [...cosigned].sort((a, b) => b.size - a.size);
  if (best === undefined || best.note === null) return signaturesOf(query, org_id, newest, witnesses);
  const lines = cosigned.flatMap(({ note, line }) => (note === best.note ? [line] : []));
  return signaturesOf(query, org_id, { note: `${best.note}${lines.join("")}`, size: best.size }, witnesses);
}

/** Leaves out signatures of unknown keys, because a verifier could not check them. */
async function signaturesOf(
  query: Query,
  org_id: string,
  { note: text, size }: { readonly note: string; readonly size: number },
  witnesses: readonly VerifierKey[],
): Promise<ReceiptHead> {
  const note = parseNote(text);
  const head = note === null ? null : parseCheckpoint(note.text);
  if (note === null || head === null) throw new Error("the stored checkpoint is not a note");
  const own = (await readLogKeys(query, org_id)).map(({ public_key }) => verifierOf(head.origin, public_key));
  const known = [...own, ...witnesses];
  const signed = note.signatures.flatMap(({ name, key_id, line }) => {
    const key = known.find((each) => each.name === name && keyIdOf(each) === key_id);
    return key === undefined ? [] : [{ line, key: verifierKeyText(key) }];
  });
  const checkpoint = `${note.text}\n${signed.map(({ line }) => line).join("")}`;
  return { checkpoint, keys: signed.map(({ key }) => key), size };
}
