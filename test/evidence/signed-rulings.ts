/** Receipts with rulings that passkeys signed, and forgeries by somebody who can write the whole log. */
import { canonicalJson } from "@countersign/core";
import {
  change,
  decision,
  type Forge,
  log,
  logOf,
  org_id,
  type Receipt,
  type Recorded,
  receiptOf,
} from "./made-receipts.ts";
import { assertionOf, edPasskey, esPasskey, type Lies, type MadePasskey, rsaPasskey } from "./passkeys.ts";
import { sha256 } from "./signing.ts";

interface Signer {
  readonly person: string;
  readonly passkey: MadePasskey;
}

const ada: Signer = { person: "usr_01KAAAAAAAAAAAAAAAAAAAAAAA", passkey: esPasskey("ada") };
const ben: Signer = { person: "usr_01KBBBBBBBBBBBBBBBBBBBBBBB", passkey: edPasskey("ben") };
const cleo: Signer = { person: "usr_01KCCCCCCCCCCCCCCCCCCCCCCC", passkey: rsaPasskey("cleo") };

function registration({ person, passkey }: Signer, changed: object = {}): Recorded {
  const { credential_id, public_key } = passkey;
  const row = { user_id: person, public_key, created_at: "2026-11-28T11:00:00.000000Z", ...changed };
  const state = [{ table: "passkeys", id: credential_id, row }];
  return change("passkey_registered", person, { passkey_id: credential_id, name: "laptop", state }, null);
}

const held = decision("escalate");
const other_held = decision("escalate", { reasons: ["another answer"] });

interface RulingChange {
  readonly of?: Recorded;
  readonly members?: object;
}

function rulingOf({ person }: Signer, { of = held, members = {} }: RulingChange = {}): string {
  const leaf = JSON.parse(of.leaf) as Readonly<Record<string, string>>;
  return canonicalJson({
    at: "2026-11-28T12:04:30.000000Z",
    changed_sha256: null,
    data_sha256: leaf["data"],
    escalation_id: leaf["escalation_id"],
    format: "countersign.ruling.v1",
    intent_id: leaf["intent_id"],
    intent_sha256: leaf["intent"],
    org_id,
    outcome: "approve",
    person,
    ...members,
  });
}

/** `by`: whose passkey signs. */
interface VoteChange extends RulingChange {
  readonly by?: MadePasskey;
  readonly lies?: Lies;
  readonly data?: object;
  readonly confirmation?: object;
  readonly assertion?: object;
}

function vote(signer: Signer, { by, lies, data, confirmation, assertion, ...rest }: VoteChange = {}): Recorded {
  const ruling = rulingOf(signer, rest);
  const passkey = { ...assertionOf(by ?? signer.passkey, ruling, lies), ...assertion };
  return change("voted", signer.person, {
    escalation_id: "esc_01KAAAAAAAAAAAAAAAAAAAAAAA",
    person: signer.person,
    outcome: "approve",
    comment: null,
    modifications: null,
    confirmation: { passkey, ruling, ...confirmation },
    ...data,
  });
}

type Entries = Readonly<Record<number, Recorded>>;

/** The receipt has `passkeys` apart. */
function signedReceipt(passkeys: Entries, entries: Entries): Receipt {
  const leaves = logOf(40, { ...passkeys, ...entries });
  const receipt = receiptOf(leaves, entries, [log]);
  if (Object.keys(passkeys).length === 0) return receipt;
  return { ...receipt, passkeys: receiptOf(leaves, passkeys, [log]).entries };
}

const passkeys: Entries = { 3: registration(ada), 4: registration(ben), 7: registration(cleo) };
const entries: Entries = {
  9: held,
  11: vote(ada),
  12: vote(ben),
  13: vote(cleo),
  14: change("reviewed", cleo.person, { status: "decided", outcome: "approve" }),
};
export const signed = signedReceipt(passkeys, entries);

const modifications = [{ op: "replace", path: "/amount_usd", value: 900 }];
const changed = { salt: "made for this ruling", text: '{"amount_usd":900}' };
const changed_sha256 = sha256(changed.salt + changed.text).toString("hex");
const outcome = "approve_modified";
const change_data = { outcome, modifications };
const change_members = { changed_sha256, outcome };
const mixed_entries: Entries = {
  9: held,
  11: vote(ada, { members: change_members, data: change_data, confirmation: { changed } }),
  12: vote(ben, { members: change_members, data: change_data }),
  13: vote(cleo),
  14: change("voted", ada.person, { person: ada.person, outcome: "approve", confirmation: { totp: true } }),
};
/** Two changed actions, a passkey without its registration, and a code. */
export const mixed = signedReceipt({ 3: registration(ada), 4: registration(ben) }, mixed_entries);

const told = (person: string, registered: number, entry: number, of = "approve") =>
  `The passkey that ${person} registered at entry ${registered} signed the ruling "${of}" of entry ${entry} on this action, at https://console.example. It verified its user.`;
const holder = (person: string) => `Who held the device with the passkey of ${person}.`;

export const signed_proved = [told(ada.person, 3, 11), told(ben.person, 4, 12), told(cleo.person, 7, 13)];
export const signed_not_proved = [ada, ben, cleo].map(({ person }) => holder(person));
export const mixed_proved = [told(ada.person, 3, 11, outcome), told(ben.person, 4, 12, outcome)];
export const mixed_not_proved = [
  ...[ada, ben].map(({ person }) => holder(person)),
  "How the people changed the action in these signed rulings, which the receipt does not show: 12.",
  "That a passkey signed these rulings: the receipt has no registration of it: 13.",
  "That somebody entered a code for these rulings, which only the service saw: 14.",
];

const withVote = (recorded: Recorded) => () => signedReceipt(passkeys, { ...entries, 11: recorded });
const withPasskey = (recorded: Recorded) => () => signedReceipt({ ...passkeys, 3: recorded }, entries);
const cut = (text: string): string => Buffer.from(text, "base64url").subarray(0, -1).toString("base64url");
const withLastByte = (text: string, byte: number): string =>
  Buffer.concat([Buffer.from(cut(text), "base64url"), Buffer.of(byte)]).toString("base64url");
const flipped = (text: string): string => `${text.startsWith("A") ? "B" : "A"}${text.slice(1)}`;
const honest = assertionOf(ada.passkey, rulingOf(ada));

export function rulingForgeries(): Forge[] {
  const other = (name: string, value: string) => withVote(vote(ada, { members: { [name]: value } }));
  return [
    ["another outcome in the entry", withVote(vote(ada, { data: { outcome: "block" } })), "ruling", 11],
    ["another person in the entry", withVote(vote(ada, { data: { person: ben.person } })), "ruling", 11],
    ["another decision", () => signedReceipt(passkeys, { ...entries, 9: other_held }), "ruling", 11],
    ["the ruling of another case", other("escalation_id", "esc_01KBBBBBBBBBBBBBBBBBBBBBBB"), "ruling", 11],
    ["the ruling of another intent", other("intent_id", "int_01KBBBBBBBBBBBBBBBBBBBBBBB"), "ruling", 11],
    ["the ruling of another organization", other("org_id", "org_01KBBBBBBBBBBBBBBBBBBBBBBB"), "ruling", 11],
    ["the ruling of another content", other("intent_sha256", "0".repeat(64)), "ruling", 11],
    ["a ruling of another format", other("format", "countersign.ruling.v2"), "ruling", 11],
    ["a ruling after its entry", other("at", "2026-11-28T12:05:00.000001Z"), "ruling", 11],
    ["a ruling without a time", other("at", "now"), "ruling", 11],
    ["a ruling with one more member", other("note", "trust me"), "ruling", 11],
    [
      "a ruling that is formatted",
      withVote(vote(ada, { confirmation: { ruling: ` ${rulingOf(ada)}` } })),
      "ruling",
      11,
    ],
    ["a confirmation with one more member", withVote(vote(ada, { confirmation: { note: 1 } })), "ruling", 11],
    ["a change that nobody signed", withVote(vote(ada, { data: { modifications } })), "ruling", 11],
    ["a signed change that the entry lacks", withVote(vote(ada, { members: { changed_sha256 } })), "ruling", 11],
    ["a signature in another text", withVote(vote(ada, { assertion: { signature: "a=" } })), "ruling", 11],
    ["the assertion of another person", withVote(vote(ada, { by: ben.passkey })), "ruling", 11],
    ["the passkey of another person", withPasskey(registration(ada, { user_id: ben.person })), "ruling", 11],
  ];
}

export function assertionForgeries(): Forge[] {
  const { signature, authenticator_data } = honest;
  const lying = (lies: Lies) => withVote(vote(ada, { lies }));
  const changing = (assertion: object) => withVote(vote(ada, { assertion }));
  const elsewhere = assertionOf(ada.passkey, rulingOf(ada, { members: { outcome: "block" } }));
  return [
    ["the assertion of another ruling", changing(elsewhere), "assertion", 11],
    [
      "the key of another person",
      withPasskey(registration(ada, { public_key: ben.passkey.public_key })),
      "assertion",
      11,
    ],
    ["a key of an unknown algorithm", withPasskey(registration(ada, { public_key: "a10101" })), "assertion", 11],
    [
      "a key that is cut",
      withPasskey(registration(ada, { public_key: ada.passkey.public_key.slice(0, -2) })),
      "assertion",
      11,
    ],
    ["a device that did not verify its user", lying({ flags: 1 }), "assertion", 11],
    ["a device that nobody touched", lying({ flags: 4 }), "assertion", 11],
    ["a device of another site", lying({ host: "evil.example" }), "assertion", 11],
    ["a page of another site", lying({ client: { origin: "https://evil.example" } }), "assertion", 11],
    ["a page in a frame", lying({ client: { crossOrigin: true } }), "assertion", 11],
    ["a page in a frame of a known site", lying({ client: { topOrigin: "https://evil.example" } }), "assertion", 11],
    ["a registration instead of a signature", lying({ client: { type: "webauthn.create" } }), "assertion", 11],
    [
      "a challenge with padding",
      lying({ client: { challenge: `${Buffer.from(sha256(rulingOf(ada))).toString("base64url")}=` } }),
      "assertion",
      11,
    ],
    ["another count of uses", changing({ authenticator_data: withLastByte(authenticator_data, 8) }), "assertion", 11],
    ["one changed byte of the signature", changing({ signature: flipped(signature) }), "assertion", 11],
    ["a signature that is cut", changing({ signature: cut(signature) }), "assertion", 11],
    [
      "an RSA signature of another ruling",
      () => signedReceipt(passkeys, { ...entries, 13: vote(cleo, { assertion: assertionOf(cleo.passkey, "{}") }) }),
      "assertion",
      13,
    ],
    [
      "an EdDSA signature with another count",
      () => signedReceipt(passkeys, { ...entries, 12: vote(ben, { assertion: { authenticator_data: vote_data } }) }),
      "assertion",
      12,
    ],
  ];
}

const vote_data = assertionOf(ben.passkey, rulingOf(ben), { flags: 13 }).authenticator_data;

export function registrationForgeries(): Forge[] {
  const [first, second, third] = signed.passkeys ?? [];
  if (first === undefined || second === undefined || third === undefined) throw new Error("no passkeys");
  const erased = { ...first, documents: { data: null } };
  const another = { ...change("key_created", "system", { key_id: "key_1" }, null), index: 3, proof: first.proof };
  return [
    ["an empty list of passkeys", (receipt) => ({ ...receipt, passkeys: [] }), "form"],
    ["a passkey that is no entry", (receipt) => ({ ...receipt, passkeys: [{} as never] }), "form"],
    ["an erased registration", (receipt) => ({ ...receipt, passkeys: [erased, second, third] }), "registration", 3],
    ["an entry of another type", (receipt) => ({ ...receipt, passkeys: [another, second, third] }), "registration", 3],
    ["passkeys in another order", (receipt) => ({ ...receipt, passkeys: [second, first, third] }), "position", 3],
    [
      "a registration that the log lacks",
      (receipt) => ({ ...receipt, passkeys: [{ ...first, proof: second.proof }, second, third] }),
      "inclusion",
      3,
    ],
    [
      "a registration with another key",
      (receipt) => ({ ...receipt, passkeys: [{ ...first, documents: registration(ben).documents }, second, third] }),
      "document",
      3,
    ],
    ["a key that is not hex", withPasskey(registration(ada, { public_key: "xyz" })), "registration", 3],
  ];
}

export function changeForgeries(): Forge[] {
  const changing = (other: object) => () =>
    signedReceipt(
      { 3: registration(ada), 4: registration(ben) },
      {
        ...mixed_entries,
        11: vote(ada, { members: change_members, data: change_data, confirmation: { changed: other } }),
      },
    );
  return [
    ["another change than the signed one", changing({ ...changed, text: '{"amount_usd":9000}' }), "ruling", 11],
    ["another salt", changing({ ...changed, salt: "another" }), "ruling", 11],
    ["a change without its salt", changing({ text: changed.text }), "ruling", 11],
  ];
}
