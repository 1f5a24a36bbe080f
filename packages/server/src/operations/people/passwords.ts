/** Changing a password with the old one, or setting one with a mailed link. Source: api.md §9. */
import { limits, type PasswordChangeInput, type PasswordResetInput } from "@countersign/contract";
import { Fault, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { findPerson, lockPerson, type Person, readPerson, updatePerson } from "../../store/people/people.ts";
import { deleteTokensOf, hasRecentToken, insertToken, readToken, takeToken } from "../../store/people/person-tokens.ts";
import { sessionStands } from "../../store/people/sessions.ts";
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

/** Does the same and answers the same for every address. The owner is looked up when the mail is sent. */
export async function forgotPassword(
  runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails">,
  email: string,
): Promise<void> {
  await runtime.db.system((query) => writeMail(runtime, query, "password", { to: email }));
  runtime.mails.wake();
}

/**
 * Makes the link for a forgotten password, in the caller's system transaction. Null: nobody has the address, or its owner was
 * mailed a link within the last minute. That limit exists because anybody may ask for any address; it does not apply to a mail
 * that is sent `again` after a failed attempt.
 */
export async function newPasswordLink(
  runtime: Pick<Runtime, "ids">,
  query: Query,
  email: string,
  again: boolean,
): Promise<string | null> {
  const found = await findPerson(query, email);
  // The lock makes the second of two mails at once find the link of the first.
  const person = found && (await lockPerson(query, found.org_id, found.user_id));
  if (person === undefined) return null;
  const { org_id, user_id } = person;
  const every_seconds = limits.password_mail_every_seconds;
  if (!again && (await hasRecentToken(query, "password", org_id, user_id, every_seconds))) return null;
  const token = newToken(runtime);
  // Earlier links stay valid: anybody may ask for any address, and could otherwise void each link before its owner follows it.
  await insertToken(query, "password", tokenHash(token), org_id, { user_id });
  return token;
}

/** Sets a new password with a mailed link and ends every session of the person. Faults: not_found, overloaded. */
export async function resetPassword(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "passwords" | "mails">,
  input: PasswordResetInput,
): Promise<void> {
  const token_sha256 = tokenHash(input.token);
  // The link is checked before the password is hashed: hashing is expensive, and strangers can invent any number of links.
  const token = await runtime.db.system((query) => readToken(query, "password", token_sha256));
  const user_id = token?.subject["user_id"];
  const org_id = token?.org_id;
  if (org_id == null || user_id === undefined) throw linkFault();
  const password_hash = await runtime.passwords.hash(input.password);
  await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    const mine = await takeToken(query, "password", token_sha256);
    if (person === undefined || mine === undefined) throw linkFault();
    await setPassword(runtime, query, person, password_hash);
    await endSessions(runtime, query, person, user_id);
  });
  runtime.mails.wake();
}

/**
 * Sets another password, ends every session of the person and begins a new one here. After five wrong current passwords the
 * session ends.
 * Faults: invalid_credentials, missing_api_key (the session ended meanwhile), overloaded.
 */
export async function changePassword(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "passwords" | "mails">,
  caller: Caller,
  input: PasswordChangeInput,
  client: Client,
): Promise<Begun> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const known = await runtime.db.tenant(org_id, (query) => readPerson(query, org_id, user_id));
  const right = await runtime.passwords.verify(known?.password_hash ?? null, input.current_password);
  if (!right) {
    await runtime.db.system(async (query) => {
      const person = await lockPerson(query, org_id, user_id);
      // An earlier guess ended the session, so the right password would not be taken either.
      if (person === undefined || !(await sessionStands(query, org_id, session_id))) throw noSession();
      await countWrong(runtime, query, person, session_id);
    });
    throw new Fault("invalid_credentials");
  }
  const password_hash = await runtime.passwords.hash(input.password);
  const begun = await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    if (person === undefined) throw noSession();
    if (person.password_hash !== known?.password_hash) throw new Fault("invalid_credentials");
    await setPassword(runtime, query, person, password_hash);
    return replaceSessions(runtime, query, person, session_id, client);
  });
  runtime.mails.wake();
  return begun;
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
  await writeMail(runtime, query, "account", { to: email, change: "password_changed" });
}
