/** The form of a receipt: closed objects, canonical JSON, limits. */
import { type Bytes, base64Hash } from "./bytes.ts";
import { canonicalText, hasMembers, isObject, isText, type JsonObject, parsedObject } from "./json.ts";
import { Refused } from "./refused.ts";

const receipt_bytes_max = 32 * 1024 * 1024;
const entries_max = 1_000;
const keys_max = 16;
/** A tree of 2⁵³ leaves has paths of 53 hashes. */
const proof_hashes_max = 53;

export interface ReceiptEntry {
  readonly index: number;
  readonly leaf_text: string;
  readonly leaf: JsonObject;
  readonly proof: readonly Bytes[];
  readonly documents: Readonly<Record<string, SaltedText | null>>;
}

interface SaltedText {
  readonly salt: string;
  readonly text: string;
}

/** An entry of the log, verified. */
export interface VerifiedEntry {
  readonly index: number;
  readonly type: string;
  /** RFC 3339 UTC. */
  readonly at: string;
  readonly actor: string;
  readonly leaf: JsonObject;
  /** Parsed documents by name. Null: erased, or withheld because a rule hides a value in it. */
  readonly documents: Readonly<Record<string, JsonObject | null>>;
}

export interface ReceiptForm {
  readonly org_id: string;
  readonly intent_id: string;
  readonly checkpoint: string;
  readonly keys: readonly string[];
  readonly entries: readonly ReceiptEntry[];
  /** Registrations of the passkeys that signed rulings. */
  readonly passkeys: readonly ReceiptEntry[];
}

/** Reads the bytes of a receipt. Throws `Refused`. */
export function receiptForm(receipt: string | Uint8Array): ReceiptForm {
  if (receipt.length > receipt_bytes_max) throw new Refused("size", "the receipt is larger than 32 MiB");
  const text = typeof receipt === "string" ? receipt : textOf(receipt);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refused("form", "the receipt is not JSON");
  }
  if (isObject(value) && isText(value["format"]) && value["format"] !== "countersign.receipt.v1")
    throw new Refused(
      "format",
      `the receipt has the format "${value["format"].slice(0, 40)}", which is not known here`,
    );
  const names = ["checkpoint", "entries", "format", "intent_id", "keys", "org_id"] as const;
  // Only receipts of signed rulings have it.
  const further = isObject(value) && Object.hasOwn(value, "passkeys") ? (["passkeys"] as const) : [];
  if (!hasMembers(value, [...names, ...further]))
    throw new Refused("form", `the receipt does not have exactly these members: ${names.join(", ")}`);
  const { checkpoint, format, intent_id, keys, org_id } = value;
  if (!isText(format) || !isText(checkpoint) || !isId(intent_id, "int") || !isId(org_id, "org"))
    throw new Refused("form", "the receipt has a member of another kind than the format says");
  if (!isList(keys, keys_max) || !keys.every(isText))
    throw new Refused("form", `the receipt does not have 1 to ${keys_max} keys`);
  if (!isList(value.entries, entries_max))
    throw new Refused("form", `the receipt does not have 1 to ${entries_max} entries`);
  const entries = value.entries.map(entryForm);
  const registered = further.length === 0 ? [] : value.passkeys;
  if (further.length > 0 && !isList(registered, entries_max))
    throw new Refused("form", `the receipt does not have 1 to ${entries_max} registrations of passkeys`);
  const passkeys = (registered as readonly unknown[]).map(entryForm);
  if (canonicalText(value) !== text)
    throw new Refused(
      "form",
      "the receipt is not canonical JSON: somebody formatted or changed it, or a name is repeated",
    );
  return { org_id, intent_id, checkpoint, keys, entries, passkeys };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refused("form", "the receipt is not UTF-8");
  }
}

function isList(value: unknown, items_max: number): value is readonly unknown[] {
  return Array.isArray(value) && value.length > 0 && value.length <= items_max;
}

function isId(value: unknown, prefix: string): value is string {
  return typeof value === "string" && value.startsWith(`${prefix}_`) && /^[a-z]+_[0-9A-Za-z]{1,64}$/.test(value);
}

function entryForm(value: unknown, at: number): ReceiptEntry {
  if (!hasMembers(value, ["documents", "index", "leaf", "proof"]))
    throw new Refused(
      "form",
      `entry ${at + 1} of the receipt does not have exactly these members: documents, index, leaf, proof`,
    );
  const { documents, index, leaf, proof } = value;
  if (!Number.isSafeInteger(index) || (index as number) < 0 || !isText(leaf))
    throw new Refused("form", `entry ${at + 1} of the receipt has no index or no leaf`);
  const entry = index as number;
  const hashes = Array.isArray(proof) && proof.length <= proof_hashes_max ? proof.map(hashOf) : [undefined];
  if (!hashes.every((hash) => hash !== undefined))
    throw new Refused("form", `the proof of entry ${entry} is not a list of up to ${proof_hashes_max} hashes`, entry);
  const fields = leafOf(leaf, entry);
  const names = fields["type"] === "decided" ? ["data", "facts", "intent"] : ["data"];
  if (!hasMembers(documents, names) || !Object.values(documents).every(isDocument))
    throw new Refused("form", `entry ${entry} does not have exactly these documents: ${names.join(", ")}`, entry);
  return {
    index: entry,
    leaf_text: leaf,
    leaf: fields,
    proof: hashes,
    documents: documents as ReceiptEntry["documents"],
  };
}

function hashOf(value: unknown): Bytes | undefined {
  return typeof value === "string" ? base64Hash(value) : undefined;
}

function isDocument(value: unknown): boolean {
  if (value === null) return true;
  return (
    hasMembers(value, ["salt", "text"]) && isText(value.text) && isText(value.salt) && /^[0-9a-f]{32}$/.test(value.salt)
  );
}

const isHash = (value: unknown): boolean => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isIdText = (value: unknown): boolean => typeof value === "string" && /^[a-z]+_[0-9A-Za-z_]{1,100}$/.test(value);
const isIdOrNull = (value: unknown): boolean => value === null || isIdText(value);
const isWord = (value: unknown): boolean => typeof value === "string" && /^[a-z_]{1,64}$/.test(value);
export const isTime = (value: unknown): boolean =>
  typeof value === "string" && /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$/.test(value);

type Form = Readonly<Record<string, (value: unknown) => boolean>>;

const changeForm: Form = {
  actor: isText,
  at: isTime,
  audit_id: isIdText,
  data: isHash,
  intent_id: isIdOrNull,
  type: isWord,
  v: (value) => value === 1,
};

const decisionForm: Form = {
  actor: isText,
  agent_id: isText,
  at: isTime,
  data: isHash,
  decision_id: isIdText,
  escalation_id: isIdOrNull,
  facts: isHash,
  intent: isHash,
  intent_id: isIdText,
  lineage_id: isIdOrNull,
  membrane_id: isIdText,
  mode: isWord,
  override_id: isIdOrNull,
  type: isWord,
  v: (value) => value === 1,
  verdict: isWord,
};

/** The leaf of ledger entry format 1 (docs/decisions/0030-the-ledger.md). */
function leafOf(text: string, entry: number): JsonObject {
  const leaf = parsedObject(text);
  const form = leaf?.["type"] === "decided" ? decisionForm : changeForm;
  const names = Object.keys(form);
  if (!hasMembers(leaf, names) || !names.every((name) => form[name]?.(leaf[name])) || canonicalText(leaf) !== text)
    throw new Refused("leaf", `the leaf of entry ${entry} is not a ledger entry of format 1`, entry);
  return leaf;
}
