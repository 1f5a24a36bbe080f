/** Another password: by who knows the old one, or by who reads the mail of the address. Source: api.md §9. */
import { limits, type PasswordChangeInput, type PasswordResetInput } from "@countersign/contract";
import { Fault, formatTimestampUs, us_per_second } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { findPerson, lockPerson, type Person, readPerson, updatePerson } from "../../store/people/people.ts";
import { deleteTokensOf, hasTokenOf, insertToken, readToken, takeToken } from "../../store/people/person-tokens.ts";
import { clocks_differ_seconds, sessionStands } from "../../store/people/sessions.ts";
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

/** Does and answers the same for every address; whose it is, is looked at when the mail is sent. */
export async function forgotPassword(runtime: Runtime, email: string): Promise<void> {
  await runtime.db.system((query) => writeMail(runtime, query, "password", { to: email }));
  runtime.mails.poke();
}

/**
 * The link for a forgotten password, in the caller's system transaction. Null: nobody has the address, or its owner was
 * mailed one within the last minute and this mail is not the one that could not be sent (`again`): anybody may ask in
 * anybody's name.
 */
export async function newPasswordLink(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  email: string,
  again: boolean,
): Promise<string | null> {
  const found = await findPerson(query, email);
  // Locked: of two mails at once the second finds the link of the first.
  const person = found && (await lockPerson(query, found.org_id, found.user_id));
  if (person === undefined) return null;
  const { org_id, user_id } = person;
  const expires_us = runtime.clock.now_us() + limits.password_link_seconds * us_per_second;
  const recent = [-limits.password_mail_every_seconds, clocks_differ_seconds].map((seconds) =>
    formatTimestampUs(expires_us + seconds * us_per_second),
  ) as [string, string];
  if (!again && (await hasTokenOf(query, "password", org_id, user_id, ...recent))) return null;
  const token = newToken(runtime);
  const expires_at = formatTimestampUs(expires_us);
  // Earlier links stay good: anybody may ask in anybody's name, and would void each before it can be followed.
  await insertToken(query, "password", tokenHash(token), org_id, { user_id }, expires_at);
  return token;
}

/** Sets a new password with a mailed link and ends every session of the person. Faults: not_found, overloaded. */
export async function resetPassword(runtime: Runtime, input: PasswordResetInput): Promise<void> {
  const now = formatTimestampUs(runtime.clock.now_us());
  const token_sha256 = tokenHash(input.token);
  // Looked at first: hashing is dear, and strangers can make up as many links as they like.
  const token = await runtime.db.system((query) => readToken(query, "password", token_sha256, now));
  const user_id = token?.subject["user_id"];
  const org_id = token?.org_id;
  if (org_id == null || user_id === undefined) throw linkFault();
  const password_hash = await runtime.passwords.hash(input.password);
  await runtime.db.system(async (query) => {
    const person = await lockPerson(query, org_id, user_id);
    const mine = await takeToken(query, "password", token_sha256, now);
    if (person === undefined || mine === undefined) throw linkFault();
    await setPassword(runtime, query, person, password_hash);
    await endSessions(runtime, query, person, user_id);
  });
  runtime.mails.poke();
}

/**
 * Sets another password, ends every session of the person and begins a new one here. After five wrong current passwords
 * the session ends.
 * Faults: invalid_credentials, missing_api_key (the session ended meanwhile), overloaded.
 */
export async function changePassword(
  runtime: Runtime,
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
      // Ended by a guess before this one: the right password would not serve any more either.
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
  runtime.mails.poke();
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
