/** Verifies a receipt offline, without the service and without trust in it. */
import { base64Hash, hexOf, sha256, utf8 } from "./bytes.ts";
import { parsedObject } from "./json.ts";
import {
  type Checkpoint,
  isLineOf,
  parsedCheckpoint,
  type VerifierKey,
  verifiedSignature,
  verifierKey,
} from "./note.ts";
import { type ReceiptEntry, receiptForm, type VerifiedEntry } from "./receipt-form.ts";
import { type ReceiptCheck, Refused } from "./refused.ts";
import {
  type Confirmations,
  checkRegistrations,
  notProvedByPasskeys,
  provedByPasskeys,
  verifiedRulings,
} from "./rulings.ts";
import { isExtended, isIncluded, leafHash } from "./tree.ts";

export interface VerifyReceiptOptions {
  /**
   * Verifier keys that you trust, of logs and of witnesses. Get them from another place than the receipt, because the
   * receipt names keys, too, and a forger would name his own.
   */
  readonly keys: readonly string[];
  /** A checkpoint that you noted earlier or later, and the consistency proof between it and the receipt's. */
  readonly known?: { readonly checkpoint: string; readonly proof: readonly string[] } | undefined;
}

export type ReceiptVerdict =
  | {
      readonly ok: true;
      readonly proved: readonly string[];
      readonly not_proved: readonly string[];
      readonly intent_id: string;
      readonly checkpoint: { readonly origin: string; readonly size: number; readonly root: string };
      readonly entries: readonly VerifiedEntry[];
    }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly check: ReceiptCheck;
      /** The index in the log. Null: the check is not about one entry. */
      readonly entry: number | null;
    };

/**
 * Verifies the bytes of a receipt: signatures, proofs and commitments. Throws TypeError for `keys` or a `known` checkpoint
 * that no receipt could match, and `Ed25519Missing`.
 */
export async function verifyReceipt(
  receipt: string | Uint8Array,
  { keys, known }: VerifyReceiptOptions,
): Promise<ReceiptVerdict> {
  const given = await Promise.all(keys.map(givenKey));
  if (!given.some(({ by }) => by === "log")) throw new TypeError("give at least one verifier key of a log");
  const compared = known === undefined ? undefined : await knownHead(known, given);
  try {
    const form = receiptForm(receipt);
    const { org_id, intent_id, checkpoint: note, keys: named, entries, passkeys } = form;
    const checkpoint = parsedCheckpoint(note);
    const { origin, size, root } = checkpoint;
    if (!origin.endsWith(`/${org_id}`))
      throw new Refused("origin", `the log ${origin} is not the log of the organization ${org_id}`);
    const signers = await verifiedSigners(checkpoint, named, given);
    checkOrder(entries, intent_id, size);
    checkRegistrations(passkeys, size);
    const verified = await Promise.all(entries.map((entry) => verifiedEntry(entry, checkpoint)));
    const registered = await Promise.all(passkeys.map((entry) => verifiedEntry(entry, checkpoint)));
    const confirmations = await verifiedRulings(form, verified, registered);
    if (compared !== undefined) await checkConsistency(checkpoint, compared);
    const statements = { ...signers, checkpoint, entries: verified, registered, confirmations, compared };
    return {
      ok: true,
      proved: provedBy(statements),
      not_proved: notProvedBy(statements),
      intent_id,
      checkpoint: { origin, size, root: hexOf(root) },
      entries: verified,
    };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { ok: false, reason: error.message, check: error.check, entry: error.entry };
  }
}

async function givenKey(text: string): Promise<VerifierKey> {
  const key = await verifierKey(text.trim());
  if (key === undefined) throw new TypeError(`"${text.slice(0, 80)}" is not a verifier key: name+8 hex digits+Base64`);
  return key;
}

type KnownHead = Checkpoint & { readonly proof: readonly string[] };

/** The checkpoint must be signed by a given key, or a forger could have written it. */
async function knownHead(
  { checkpoint: note, proof }: NonNullable<VerifyReceiptOptions["known"]>,
  given: readonly VerifierKey[],
): Promise<KnownHead> {
  try {
    const checkpoint = parsedCheckpoint(note);
    const signers = given.filter(({ by, name }) => by === "log" && name === checkpoint.origin);
    const signed = checkpoint.signatures.flatMap((line) => {
      const key = signers.find((each) => isLineOf(line, each));
      return key === undefined ? [] : [verifiedSignature(checkpoint, line, key)];
    });
    await Promise.all(signed);
    if (signed.length > 0) return { ...checkpoint, proof };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new TypeError(`the known checkpoint is not valid: ${error.message}`);
  }
  throw new TypeError("the known checkpoint is not signed by a key that you gave");
}

interface Signers {
  /** Names with key ids. */
  readonly trusted_keys: readonly string[];
  readonly trusted_witnesses: readonly { readonly name: string; readonly seconds: number }[];
  readonly other_witnesses: readonly string[];
}

/** The receipt's keys must be those of the signatures, in their order. */
async function verifiedSigners(
  checkpoint: Checkpoint,
  named: readonly string[],
  given: readonly VerifierKey[],
): Promise<Signers> {
  const keys = await Promise.all(named.map(verifierKey));
  const { origin, signatures } = checkpoint;
  const lines = signatures.map((line, at) => {
    const key = keys[at];
    if (key === undefined) throw new Refused("keys", `key ${at + 1} of the receipt is not a verifier key`);
    if (!isLineOf(line, key) || (key.by === "log" && key.name !== origin) || named.indexOf(key.text) !== at)
      throw new Refused("keys", `key ${at + 1} of the receipt is not the key of signature ${at + 1} of the checkpoint`);
    return { line, key, trusted: given.some(({ text }) => text === key.text) };
  });
  if (lines.length !== named.length) throw new Refused("keys", "the receipt does not have one key for each signature");
  const verified = await Promise.all(
    lines.map(async ({ line, ...rest }) => ({ ...rest, seconds: await verifiedSignature(checkpoint, line, rest.key) })),
  );
  const logs = verified.filter(({ key, trusted }) => trusted && key.by === "log");
  if (logs.length === 0)
    throw new Refused("trusted_key", `no key that you gave signed the checkpoint of the log ${origin}`);
  const witnesses = verified.filter(({ key }) => key.by === "witness");
  return {
    trusted_keys: logs.map(({ key }) => `${key.name}+${hexOf(key.id)}`),
    trusted_witnesses: witnesses.flatMap(({ key, trusted, seconds }) =>
      trusted && seconds !== null ? [{ name: key.name, seconds }] : [],
    ),
    other_witnesses: witnesses.flatMap(({ key, trusted }) => (trusted ? [] : [key.name])),
  };
}

/** The decision comes first, then what happened to it, in the order of the log. */
function checkOrder(entries: readonly ReceiptEntry[], intent_id: string, size: number): void {
  let previous = -1;
  for (const [at, { index, leaf }] of entries.entries()) {
    if (index <= previous || index >= size)
      throw new Refused(
        "position",
        `entry ${index} is not after the previous entry and before the end of the log`,
        index,
      );
    if (leaf["intent_id"] !== intent_id)
      throw new Refused("intent", `entry ${index} is about another intent than ${intent_id}`, index);
    if ((leaf["type"] === "decided") !== (at === 0))
      throw new Refused("decision", `entry ${index} is ${at === 0 ? "not the" : "another"} decision`, index);
    previous = index;
  }
}

async function verifiedEntry(
  { index, leaf_text, leaf, proof, documents }: ReceiptEntry,
  { size, root }: Checkpoint,
): Promise<VerifiedEntry> {
  const parsed = await Promise.all(
    Object.entries(documents).map(async ([name, document]) => {
      if (document === null) return [name, null] as const;
      const { salt, text } = document;
      if (hexOf(await sha256(utf8(salt + text))) !== leaf[name])
        throw new Refused(
          "document",
          `the document "${name}" of entry ${index} is not the one that the log holds`,
          index,
        );
      const value = parsedObject(text);
      if (value === undefined)
        throw new Refused("document", `the document "${name}" of entry ${index} is not a JSON object`, index);
      return [name, value] as const;
    }),
  );
  const read: VerifiedEntry["documents"] = Object.fromEntries(parsed);
  const answer = leaf["type"] === "decided" ? read["data"] : null;
  if (answer && (answer["decision_id"] !== leaf["decision_id"] || answer["verdict"] !== leaf["verdict"]))
    throw new Refused("decision", `the answer of entry ${index} is not that of its decision`, index);
  if (!(await isIncluded(await leafHash(utf8(leaf_text)), index, size, proof, root)))
    throw new Refused(
      "inclusion",
      `the log does not have entry ${index} of the receipt: the proof does not lead to the root`,
      index,
    );
  const { type, at, actor } = leaf as Readonly<Record<string, string>>;
  return { index, type: type as string, at: at as string, actor: actor as string, leaf, documents: read };
}

async function checkConsistency(checkpoint: Checkpoint, known: KnownHead): Promise<void> {
  const hashes = known.proof.map(base64Hash);
  const [first, second] = known.size <= checkpoint.size ? [known, checkpoint] : [checkpoint, known];
  if (
    known.origin !== checkpoint.origin ||
    !hashes.every((hash) => hash !== undefined) ||
    !(await isExtended(first, second, hashes))
  )
    throw new Refused("consistency", "the log of the receipt and the log of the known checkpoint differ");
}

interface Statements extends Signers {
  readonly checkpoint: Checkpoint;
  readonly entries: readonly VerifiedEntry[];
  readonly registered: readonly VerifiedEntry[];
  readonly confirmations: Confirmations;
  readonly compared: KnownHead | undefined;
}

const listed = (items: readonly (string | number)[]): string => items.join(", ");

function provedBy(statements: Statements): string[] {
  const { checkpoint, trusted_keys, trusted_witnesses, entries, registered, confirmations, compared } = statements;
  const { origin, size } = checkpoint;
  const indexes = [...entries, ...registered].map(({ index }) => index).sort((a, b) => a - b);
  return [
    `The key ${listed(trusted_keys)} signed that the log ${origin} has ${size} entries with this root.`,
    ...trusted_witnesses.map(
      ({ name, seconds }) =>
        `The witness ${name} saw this log at ${utcTime(seconds)} and found that it had only grown.`,
    ),
    `The log holds every entry of this receipt, unchanged: ${listed(indexes)}.`,
    "Each document of this receipt is the one that the service recorded with its entry.",
    ...provedByPasskeys(confirmations),
    ...(compared === undefined
      ? []
      : [`The checkpoint that you know (${compared.size} entries) and this one (${size} entries) are of one log.`]),
  ];
}

function notProvedBy({ entries, other_witnesses, confirmations, compared }: Statements): string[] {
  const erased = entries.flatMap(({ index, documents }) =>
    Object.entries(documents).flatMap(([name, document]) => (document === null ? [`${name} of entry ${index}`] : [])),
  );
  return [
    "That the facts were true, and that names and times are right: they are as the service recorded them.",
    "That nothing else happened to this action: the log may hold more entries about it.",
    ...(compared === undefined
      ? ["That the log shows everybody the same entries: compare it with a checkpoint that you noted at another time."]
      : []),
    ...other_witnesses.map((name) => `That the witness ${name} saw this log: you gave no key of this witness.`),
    ...(erased.length === 0 ? [] : [`What these documents said, which were erased or withheld: ${listed(erased)}.`]),
    ...(entries.some(({ type }) => type === "observed")
      ? ["That the action had the reported outcome: the agent reported it."]
      : []),
    ...notProvedByPasskeys(confirmations),
  ];
}

/** RFC 3339 without fractions. Years after 9999 are shown as seconds, because `Date` ends before the integers do. */
function utcTime(seconds: number): string {
  return seconds < 253_402_300_800 ? `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z` : `second ${seconds}`;
}
