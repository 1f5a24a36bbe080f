/** Verifies the passkeys' signatures over the rulings of a receipt (docs/decisions/0067-signed-rulings.md). */
import { type Bytes, hexOf, sha256, utf8 } from "./bytes.ts";
import { canonicalText, hasMembers, isObject, isText, type JsonObject, parsedObject } from "./json.ts";
import { isTime, type ReceiptEntry, type ReceiptForm, type VerifiedEntry } from "./receipt-form.ts";
import { Refused } from "./refused.ts";
import { base64UrlBytes, verifiedAssertion } from "./webauthn.ts";

interface SignedRuling {
  readonly entry: number;
  readonly outcome: string;
  readonly person: string;
  /** The index of the entry in which the person registered the passkey. */
  readonly registered: number;
  /** Of the page on which the passkey signed. */
  readonly origin: string;
  /** False: the person changed the action, and the receipt does not show how. */
  readonly is_change_shown: boolean;
}

export interface Confirmations {
  readonly signed: readonly SignedRuling[];
  /** Indexes of votes that a passkey signed of which the receipt has no registration. */
  readonly unregistered: readonly number[];
  /** Indexes of votes that were confirmed with a code. */
  readonly by_code: readonly number[];
}

/** Throws `Refused` if an entry is no registration of a passkey, or not in its place. */
export function checkRegistrations(passkeys: readonly ReceiptEntry[], size: number): void {
  let previous = -1;
  for (const { index, leaf, documents } of passkeys) {
    if (index <= previous || index >= size)
      throw new Refused(
        "position",
        `entry ${index} is not after the previous entry and before the end of the log`,
        index,
      );
    if (leaf["type"] !== "passkey_registered" || documents["data"] == null)
      throw new Refused("registration", `entry ${index} does not show the registration of a passkey`, index);
    previous = index;
  }
}

/** Throws `Refused` if a ruling does not fit its entry, or its signature is not valid. */
export async function verifiedRulings(
  { org_id, intent_id, entries: [decided] }: ReceiptForm,
  entries: readonly VerifiedEntry[],
  passkeys: readonly VerifiedEntry[],
): Promise<Confirmations> {
  const [signed, unregistered, by_code]: [SignedRuling[], number[], number[]] = [[], [], []];
  for (const entry of entries) {
    const { index, type, documents } = entry;
    const confirmation = documents["data"]?.["confirmation"];
    if (type !== "voted" || confirmation === undefined) continue;
    if (hasMembers(confirmation, ["totp"]) && confirmation.totp === true) by_code.push(index);
    else {
      const { ruling, challenge, assertion, changed } = await rulingOf(confirmation, index);
      checkRuling(ruling, { org_id, intent_id, decided, entry });
      const is_change_shown = await isChangeShown(ruling, changed, entry);
      const key = registeredKey(passkeys, assertion, { index, person: ruling["person"] });
      if (key === undefined) unregistered.push(index);
      else {
        const found = await verifiedAssertion({ ...assertion, ...key, challenge });
        if ("wrong" in found)
          throw new Refused(
            "assertion",
            `the signature of the ruling in entry ${index} is not valid: ${found.wrong}`,
            index,
          );
        const { outcome, person } = ruling as Readonly<Record<string, string>>;
        const { registered } = key;
        const { origin } = found;
        signed.push({
          entry: index,
          outcome: outcome ?? "",
          person: person ?? "",
          registered,
          origin,
          is_change_shown,
        });
      }
    }
  }
  return { signed, unregistered, by_code };
}

interface ReadAssertion {
  readonly credential_id: string;
  readonly authenticator_data: Bytes;
  readonly client_data_json: Bytes;
  readonly signature: Bytes;
}

interface Changed {
  readonly salt: string;
  readonly text: string;
}

const rulingMembers = [
  ...["at", "changed_sha256", "data_sha256", "escalation_id", "format"],
  ...["intent_id", "intent_sha256", "org_id", "outcome", "person"],
] as const;

async function rulingOf(confirmation: unknown, index: number) {
  const malformed = new Refused("ruling", `the confirmation in entry ${index} is not a ruling with a signature`, index);
  if (!isObject(confirmation)) throw malformed;
  const { changed, ...rest } = confirmation;
  if (!hasMembers(rest, ["passkey", "ruling"]) || !isText(rest.ruling)) throw malformed;
  if (changed !== undefined && !(hasMembers(changed, ["salt", "text"]) && isText(changed.salt) && isText(changed.text)))
    throw malformed;
  const ruling = parsedObject(rest.ruling);
  if (!hasMembers(ruling, rulingMembers) || canonicalText(ruling) !== rest.ruling) throw malformed;
  const { passkey } = rest;
  if (!hasMembers(passkey, ["authenticator_data", "client_data_json", "credential_id", "signature"])) throw malformed;
  const { credential_id } = passkey;
  const authenticator_data = base64UrlBytes(passkey.authenticator_data);
  const client_data_json = base64UrlBytes(passkey.client_data_json);
  const signature = base64UrlBytes(passkey.signature);
  if (!isText(credential_id) || authenticator_data === undefined) throw malformed;
  if (client_data_json === undefined || signature === undefined) throw malformed;
  const assertion: ReadAssertion = { credential_id, authenticator_data, client_data_json, signature };
  const challenge = await sha256(utf8(rest.ruling));
  return { ruling: ruling as JsonObject, challenge, assertion, changed: changed as Changed | undefined };
}

interface RulingPlace {
  readonly org_id: string;
  readonly intent_id: string;
  readonly decided: ReceiptEntry | undefined;
  readonly entry: VerifiedEntry;
}

function checkRuling(ruling: JsonObject, { org_id, intent_id, decided, entry }: RulingPlace): void {
  const { index, at, documents } = entry;
  const expected: JsonObject = {
    format: "countersign.ruling.v1",
    org_id,
    intent_id,
    escalation_id: decided?.leaf["escalation_id"],
    intent_sha256: decided?.leaf["intent"],
    data_sha256: decided?.leaf["data"],
    outcome: documents["data"]?.["outcome"],
    person: documents["data"]?.["person"],
  };
  const other = Object.keys(expected).find((name) => !isText(ruling[name]) || ruling[name] !== expected[name]);
  if (other !== undefined)
    throw new Refused("ruling", `the signed ruling of entry ${index} has another ${other} than the entry`, index);
  if (!isTime(ruling["at"]) || (ruling["at"] as string) > at)
    throw new Refused("ruling", `the signed ruling of entry ${index} is later than the entry`, index);
}

/** False: the receipt does not show the change. Throws `Refused` if it shows another one. */
async function isChangeShown(
  ruling: JsonObject,
  changed: Changed | undefined,
  { index, documents }: VerifiedEntry,
): Promise<boolean> {
  const { changed_sha256 } = ruling;
  const [signed, recorded] = [changed_sha256 !== null, documents["data"]?.["modifications"] != null];
  if (signed === recorded && changed === undefined) return !signed;
  if (signed === recorded && changed !== undefined) {
    if (hexOf(await sha256(utf8(changed.salt + changed.text))) === changed_sha256) return true;
  }
  throw new Refused("ruling", `the signed ruling of entry ${index} is about another change of the action`, index);
}

/** Returns the newest key that the person registered for the credential before the vote. */
function registeredKey(
  passkeys: readonly VerifiedEntry[],
  { credential_id }: ReadAssertion,
  { index, person }: { readonly index: number; readonly person: unknown },
): { readonly public_key: Bytes; readonly registered: number } | undefined {
  const found = passkeys.flatMap(({ index: registered, documents }) => {
    const state = documents["data"]?.["state"];
    const rows = Array.isArray(state) ? state.filter(isObject) : [];
    const row = rows.find(({ table, id }) => table === "passkeys" && id === credential_id)?.["row"];
    return registered < index && isObject(row) ? [{ row, registered }] : [];
  });
  const newest = found.at(-1);
  if (newest === undefined) return undefined;
  const { row, registered } = newest;
  if (row["user_id"] !== person)
    throw new Refused("ruling", `the passkey of the ruling in entry ${index} is of another person`, index);
  const hex = row["public_key"];
  if (typeof hex !== "string" || !/^(?:[0-9a-f]{2})+$/.test(hex))
    throw new Refused("registration", `entry ${registered} does not show the registration of a passkey`, registered);
  return { public_key: Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)), registered };
}

const listed = (indexes: readonly number[]): string => indexes.join(", ");

export function provedByPasskeys({ signed }: Confirmations): string[] {
  return signed.map(({ entry, outcome, person, registered, origin }) => {
    return `The passkey that ${person} registered at entry ${registered} signed the ruling "${outcome}" of entry ${entry} on this action, at ${origin}. It verified its user.`;
  });
}

export function notProvedByPasskeys({ signed, unregistered, by_code }: Confirmations): string[] {
  const people = [...new Set(signed.map(({ person }) => person))];
  const unshown = signed.flatMap(({ entry, is_change_shown }) => (is_change_shown ? [] : [entry]));
  return [
    ...people.map((person) => `Who held the device with the passkey of ${person}.`),
    ...(unshown.length === 0
      ? []
      : [
          `How the people changed the action in these signed rulings, which the receipt does not show: ${listed(unshown)}.`,
        ]),
    ...(unregistered.length === 0
      ? []
      : [`That a passkey signed these rulings: the receipt has no registration of it: ${listed(unregistered)}.`]),
    ...(by_code.length === 0
      ? []
      : [`That somebody entered a code for these rulings, which only the service saw: ${listed(by_code)}.`]),
  ];
}
