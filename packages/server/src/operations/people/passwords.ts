import { limits, type Passkey, type PasswordChangeInput, type PasswordResetInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { deletePasskey, listPasskeys } from "../../store/people/passkeys.ts";
import {
  findPerson,
  lockPerson,
  type Person,
  passwordChangedAfter,
  readPerson,
  updatePerson,
} from "../../store/people/people.ts";
import { deleteTokensOf, hasRecentToken, insertToken, readToken, takeToken } from "../../store/people/person-tokens.ts";
import { beganWithin, sessionStands } from "../../store/people/sessions.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { writeMail } from "./mail.ts";
import {
  type Begun,
  type Client,
  countWrong,
  endSessions,
  newToken,
  noSession,
  personCalling,
  replaceSessions,
  tokenHash,
} from "./session.ts";
import { linkFault } from "./sign-up.ts";

/** Does and answers the same for every address. The owner is looked up when the mail is sent. */
export async function forgotPassword(
  runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails">,
  email: string,
): Promise<void> {
  await runtime.db.system((query) => writeMail(runtime, query, "password", { to: email }));
  runtime.mails.wake();
}

/**
 * Creates the link for a forgotten password in the caller's system transaction. Null: no such address, a link was
 * mailed within the last minute (unless `again`: a retry after a failure), or the password was changed after the
 * request.
 */
export async function newPasswordLink(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  email: string,
  { again, asked_at }: { readonly again: boolean; readonly asked_at: string },
): Promise<string | null> {
  const found = await findPerson(query, email);
  // The lock lets the second of two concurrent mails find the first one's link.
  const person = found && (await lockPerson(query, found.org_id, found.user_id));
  if (person === undefined) return null;
  const { org_id, user_id } = person;
  if (await passwordChangedAfter(query, org_id, user_id, asked_at)) return null;
  const every_seconds = limits.password_mail_every_seconds;
  if (!again && (await hasRecentToken(query, "password", org_id, user_id, every_seconds))) return null;
  const token = newToken(runtime);
  // Earlier links stay valid. Otherwise anyone could invalidate them by requesting a new one.
  await insertToken(query, "password", tokenHash(token), org_id, { user_id });
  return token;
}

export async function listResetPasskeys(
  { db }: Pick<Runtime, "db">,
  token: string,
): Promise<{ readonly passkeys: Passkey[] }> {
  return db.system(async (query) => {
    const link = await readToken(query, "password", tokenHash(token));
    const user_id = link?.subject["user_id"];
    if (link?.org_id == null || user_id === undefined) throw linkFault();
    const passkeys = await listPasskeys(query, link.org_id, user_id);
    return { passkeys: passkeys.map(({ transports: _, ...passkey }) => passkey) };
  });
}

async function removePasskeys(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  { org_id, user_id }: Person,
): Promise<void> {
  const at = formatTimestampUs(runtime.clock.now_us());
  await withHead(query, org_id, async () => {
    const known = await listPasskeys(query, org_id, user_id);
    for (const { passkey_id } of known) await deletePasskey(query, org_id, user_id, passkey_id);
    const entry = { intent_id: null, at, actor: user_id, type: "passkey_deleted" } as const;
    return { audit: known.map(({ passkey_id }) => auditRow(runtime.ids, { ...entry, data: { passkey_id } })) };
  });
}

/** Sets a password with a mailed link and ends all sessions of the person. Faults: not_found, overloaded. */
export async function resetPassword(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "passwords" | "mails">,
  input: PasswordResetInput,
): Promise<void> {
  const token_sha256 = tokenHash(input.token);
  // Check the link before the expensive hash, because strangers can invent links.
  const token = await runtime.db.system((query) => readToken(query, "password", token_sha256));
  const user_id = token?.subject["user_id"];
  const org_id = token?.org_id;
  if (org_id == null || user_id === undefined) throw linkFault();
  const password_hash = await runtime.passwords.hash(input.password);
  await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    const mine = await takeToken(query, "password", token_sha256);
    if (person === undefined || mine === undefined) throw linkFault();
    if (input.remove_passkeys === true) await removePasskeys(runtime, query, person);
    await setPassword(runtime, query, person, password_hash);
    await endSessions(runtime, query, person, user_id);
  });
  runtime.mails.wake();
}

/**
 * Changes the password and replaces all sessions of the person by a new one. Five wrong current passwords end the
 * session. Faults: invalid_credentials, missing_api_key (the session ended), overloaded.
 */
export async function changePassword(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "passwords" | "mails">,
  caller: Caller,
  input: PasswordChangeInput,
  client: Client,
): Promise<Begun> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const proven = await provenPassword(runtime, caller, input.current_password);
  const password_hash = await runtime.passwords.hash(input.password);
  const begun = await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined) throw noSession();
    if (person.password_hash !== proven) throw new Fault("invalid_credentials");
    await setPassword(runtime, query, person, password_hash);
    return replaceSessions(runtime, query, person, session_id, client);
  });
  runtime.mails.wake();
  return begun;
}

/**
 * Verifies the caller's password and returns its hash. Five wrong ones end the session. Faults: invalid_credentials,
 * missing_api_key (the session ended), overloaded.
 */
export async function provenPassword(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "passwords">,
  caller: Caller,
  password: string,
): Promise<string> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const known = await runtime.db.tenant(org_id, (query) => readPerson(query, org_id, user_id));
  const hash = known?.password_hash ?? null;
  const right = await runtime.passwords.verify(hash, password);
  if (right && hash !== null) return hash;
  await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined || !(await sessionStands(query, org_id, session_id))) throw noSession();
    await countWrong(runtime, query, person, session_id);
  });
  throw new Fault("invalid_credentials");
}

/**
 * Refuses to add a way to sign in (authenticator, passkey) in an old session without the password, because the cookie
 * may be stolen. If the session lacks a required second factor, a person with a passkey must sign in with it. `proven`:
 * the hash from `provenPassword`. Faults: forbidden (too old, and no password; or a passkey is needed),
 * invalid_credentials (changed meanwhile), missing_api_key (the session ended).
 */
export async function requireOwner(
  query: Query,
  person: Pick<Person, "org_id" | "user_id" | "password_hash">,
  { session_id, second_factor_missing }: Pick<Caller, "second_factor_missing"> & { readonly session_id: string },
  proven: string | null,
): Promise<void> {
  // Otherwise a stolen password would be enough to add another factor beside the person's passkey.
  if (second_factor_missing && (await listPasskeys(query, person.org_id, person.user_id)).length > 0)
    throw faultAt("forbidden", "", "not_allowed", "Sign in with your passkey: the organization requires it.");
  const fresh = await beganWithin(query, person.org_id, session_id, limits.session_fresh_seconds);
  if (fresh === undefined) throw noSession();
  if (proven !== null && proven !== person.password_hash) throw new Fault("invalid_credentials");
  if (fresh || proven !== null) return;
  const minutes = limits.session_fresh_seconds / 60;
  const message = `Give your password, or sign in again: a new way to sign in is added within ${minutes} minutes of signing in.`;
  throw faultAt("forbidden", "", "session_too_old", message);
}

async function setPassword(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  { org_id, user_id, email }: Person,
  password_hash: string,
): Promise<void> {
  const at = formatTimestampUs(runtime.clock.now_us());
  await updatePerson(query, org_id, user_id, { password_hash });
  await deleteTokensOf(query, "password", org_id, user_id);
  await withHead(query, org_id, {
    audit: [auditRow(runtime.ids, { intent_id: null, at, actor: user_id, type: "password_changed", data: {} })],
  });
  const passkeys = (await listPasskeys(query, org_id, user_id)).length;
  await writeMail(runtime, query, "account", { to: email, change: "password_changed", passkeys });
}
