/** Registers passkeys of signed-in people, and signs in with them. A challenge is valid once. */
import {
  limits,
  type Passkey,
  type PasskeyInput,
  type PasskeyOptions,
  type PasswordProof,
} from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { PasskeySite } from "../../sign-in-ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import {
  deletePasskey as deleteStored,
  findPasskey,
  insertPasskey,
  notePasskeyUse,
  listPasskeys as readPasskeys,
} from "../../store/people/passkeys.ts";
import { lockPerson, readPerson } from "../../store/people/people.ts";
import { deleteTokensOf, insertToken, takeToken } from "../../store/people/person-tokens.ts";
import { sessionStands } from "../../store/people/sessions.ts";
import { decodeCursor, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { writeMail } from "./mail.ts";
import { provenPassword, requireOwner } from "./passwords.ts";
import { type Begun, beginSession, type Client, newToken, noSession, personCalling, tokenHash } from "./session.ts";

const name_default = "Passkey";

/**
 * Returns options to create a passkey. A new challenge replaces an unanswered one. Faults: those of provenPassword and
 * requireOwner.
 */
export async function beginPasskeyRegistration(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "passkeys" | "passwords">,
  caller: Caller,
  site: PasskeySite,
  { password }: PasswordProof,
): Promise<PasskeyOptions> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const proven = password === undefined ? null : await provenPassword(runtime, caller, password);
  const challenge = newToken(runtime);
  const { person, known } = await runtime.db.system(async (query) => {
    // Locked, so that a second concurrent request replaces the first one's challenge.
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined) throw noSession();
    await requireOwner(query, person, { ...caller, session_id }, proven);
    await deleteTokensOf(query, "passkey", org_id, user_id);
    const subject = { use: "register", user_id, session_id };
    await insertToken(query, "passkey", tokenHash(challenge), org_id, subject);
    return { person, known: await readPasskeys(query, org_id, user_id) };
  });
  return { options: await runtime.passkeys.registrationOptions(site, person, challenge, known) };
}

/**
 * Registers a passkey. Faults: invalid_credentials (no valid answer to a challenge of this session), already_exists
 * (the maximum, or the same passkey).
 */
export async function finishPasskeyRegistration(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "passkeys" | "sealer" | "mails">,
  caller: Caller,
  site: PasskeySite,
  { credential, name = name_default }: PasskeyInput,
): Promise<Passkey> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const { challenge, subject } = await answeredChallenge(runtime, credential);
  const mine = subject["use"] === "register" && subject["user_id"] === user_id && subject["session_id"] === session_id;
  const passkey = mine ? await runtime.passkeys.registered(site, challenge, credential) : null;
  if (passkey === null) throw new Fault("invalid_credentials");
  const { passkey_id } = passkey;
  const created_at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.system(async (query) => {
    // Under the head's lock, so that the count stays valid.
    await withHead(query, org_id, async () => {
      // An ended session must not leave new access behind.
      if (!(await sessionStands(query, org_id, session_id))) throw noSession();
      const person = await readPerson(query, org_id, user_id);
      if (person === undefined) throw new Error("the session is valid but its person is missing");
      if ((await readPasskeys(query, org_id, user_id)).length >= limits.passkeys_per_person_max)
        throw taken(`A person has at most ${limits.passkeys_per_person_max} passkeys: delete one first.`);
      if (!(await insertPasskey(query, { ...passkey, org_id, user_id, name, created_at })))
        throw taken("This passkey is registered already.");
      await writeMail(runtime, query, "account", { to: person.email, change: "passkey_registered" });
      const entry = { intent_id: null, at: created_at, actor: user_id, type: "passkey_registered" } as const;
      return { audit: [auditRow(runtime.ids, { ...entry, data: { passkey_id, name } })] };
    });
  });
  runtime.mails.wake();
  return { passkey_id, name, created_at, last_used_at: null };
}

export async function listPasskeys(
  runtime: Pick<Runtime, "db">,
  caller: Caller,
  { limit = pageLimitDefault, cursor }: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ passkeys: Passkey[]; next_cursor: string | null }> {
  const { org_id, user_id } = personCalling(caller);
  const after = decodeCursor(cursor, (place) => /^\d{4}-\S+Z [\w-]+$/.test(place));
  const known = await runtime.db.tenant(org_id, (query) => readPasskeys(query, org_id, user_id));
  // Compares with the cursor itself, because its row may have been deleted.
  const rest = after === null ? known : known.filter((each) => placeOf(each) < after);
  const { rows, next_cursor } = page(rest, limit, placeOf);
  return { passkeys: rows.map(({ transports: _, ...passkey }) => passkey), next_cursor };
}

function placeOf({ created_at, passkey_id }: Pick<Passkey, "created_at" | "passkey_id">): string {
  return `${created_at} ${passkey_id}`;
}

/** Deletes one of the caller's passkeys. Faults: not_found, missing_api_key (the session ended). */
export async function deletePasskey(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "mails">,
  caller: Caller,
  passkey_id: string,
): Promise<void> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.system(async (query) => {
    // Lock order: the person, like a login, then the head, so that a concurrent registration of the same passkey waits.
    const person = await lockPerson(query, org_id, user_id);
    await withHead(query, org_id, async () => {
      if (person === undefined || !(await sessionStands(query, org_id, session_id))) throw noSession();
      if (!(await deleteStored(query, org_id, user_id, passkey_id))) throw new Fault("not_found");
      await writeMail(runtime, query, "account", { to: person.email, change: "passkey_deleted" });
      const entry = { intent_id: null, at, actor: user_id, type: "passkey_deleted", data: { passkey_id } } as const;
      return { audit: [auditRow(runtime.ids, entry)] };
    });
  });
  runtime.mails.wake();
}

export async function beginPasskeyLogin(
  runtime: Pick<Runtime, "db" | "ids" | "passkeys">,
  site: PasskeySite,
): Promise<PasskeyOptions> {
  const challenge = newToken(runtime);
  await runtime.db.system((query) => insertToken(query, "passkey", tokenHash(challenge), null, { use: "login" }));
  return { options: await runtime.passkeys.loginOptions(site, challenge) };
}

/**
 * Begins a session by a passkey, which counts as both factors because it verified its user. Faults:
 * invalid_credentials, for any reason.
 */
export async function finishPasskeyLogin(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "passkeys">,
  site: PasskeySite,
  { credential }: PasskeyInput,
  client: Client,
): Promise<Begun> {
  const { challenge, subject } = await answeredChallenge(runtime, credential);
  const passkey_id = subject["use"] === "login" ? credential["id"] : undefined;
  if (typeof passkey_id !== "string") throw new Fault("invalid_credentials");
  const passkey = await runtime.db.system((query) => findPasskey(query, passkey_id));
  if (passkey === undefined || !claims(credential, passkey.user_id)) throw new Fault("invalid_credentials");
  const counter = await runtime.passkeys.usedBy(site, challenge, credential, passkey);
  if (counter === null) throw new Fault("invalid_credentials");
  const at = formatTimestampUs(runtime.clock.now_us());
  return runtime.db.system(async (query) => {
    const person = await lockPerson(query, passkey.org_id, passkey.user_id);
    if (person === undefined || !(await notePasskeyUse(query, passkey, counter, at)))
      throw new Fault("invalid_credentials");
    return beginSession(runtime, query, person, client, { strong: true });
  });
}

/** Uses up the answered challenge, even if the answer is wrong. Faults: invalid_credentials. */
async function answeredChallenge(
  runtime: Pick<Runtime, "db">,
  credential: Readonly<Record<string, unknown>>,
): Promise<{ challenge: string; subject: Readonly<Record<string, string>> }> {
  const challenge = challengeOf(credential);
  const token =
    challenge === null
      ? undefined
      : await runtime.db.system((query) => takeToken(query, "passkey", tokenHash(challenge)));
  if (challenge === null || token === undefined) throw new Fault("invalid_credentials");
  return { challenge, subject: token.subject };
}

function challengeOf({ response }: Readonly<Record<string, unknown>>): string | null {
  const data = (response as { clientDataJSON?: unknown } | null | undefined)?.clientDataJSON;
  if (typeof data !== "string") return null;
  try {
    const { challenge } = JSON.parse(Buffer.from(data, "base64url").toString("utf8")) as { challenge?: unknown };
    return typeof challenge === "string" ? Buffer.from(challenge, "base64url").toString("utf8") : null;
  } catch {
    return null;
  }
}

function claims({ response }: Readonly<Record<string, unknown>>, user_id: string): boolean {
  const handle = (response as { userHandle?: unknown }).userHandle;
  return handle == null || handle === Buffer.from(user_id).toString("base64url");
}

function taken(message: string): Fault {
  return faultAt("already_exists", "", "already_exists", message);
}
