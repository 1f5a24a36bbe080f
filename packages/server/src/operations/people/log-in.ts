import { type LoginInput, limits } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, us_per_second } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { findPerson, lockPerson, type Person } from "../../store/people/people.ts";
import { countMfaFailure, deleteSessions, endLogin, readMfaFailures } from "../../store/people/sessions.ts";
import type { Runtime } from "../runtime.ts";
import { type Begun, beginSession, type Client, findSession, noSession } from "./session.ts";
import { isTotp, useSecondFactor } from "./totp.ts";

/**
 * Begins a session with e-mail and password; one that waits for the second factor where the person has one. Takes as long
 * and answers the same for an unknown address as for a wrong password. Faults: invalid_credentials, overloaded.
 */
export async function logIn(runtime: Runtime, input: LoginInput, client: Client): Promise<Begun> {
  const known = await runtime.db.system((query) => findPerson(query, input.email));
  const right = await runtime.passwords.verify(known?.password_hash ?? null, input.password);
  if (known === undefined || !right) throw new Fault("invalid_credentials");
  return runtime.db.system(async (query) => {
    const person = await lockPerson(query, known.org_id, known.user_id);
    // Changed since it was verified: what was right then is wrong now.
    if (person?.password_hash !== known.password_hash) throw new Fault("invalid_credentials");
    return beginSession(runtime, query, person, client, person.mfa_enabled);
  });
}

/**
 * Finishes a login with a TOTP or recovery code: the session that waited for it is replaced by one that may do
 * everything. Faults: missing_api_key (no session), state_conflict (none that waits), invalid_credentials,
 * rate_limit_exceeded (too many wrong ones for this person; recovery codes are still taken, so nobody is kept out).
 */
export async function verifySecondFactor(
  runtime: Runtime,
  token: string | null,
  code: string,
  client: Client,
): Promise<Begun> {
  const begun = await runtime.db.system(async (query) => {
    if (token === null) throw noSession();
    const waiting = await findSession(runtime, query, token);
    if (waiting === undefined) throw noSession();
    if (!waiting.mfa_pending)
      throw faultAt("state_conflict", "", "not_allowed", "This session waits for no second factor.");
    const { org_id, user_id, session_id } = waiting;
    const person = await lockPerson(query, org_id, user_id);
    // Ended by a code that was at the person's row before this one: what it is worth is told to nobody, nor counted.
    if (person === undefined || (await findSession(runtime, query, token)) === undefined) throw noSession();
    if (isTotp(code)) await refuseGuessing(runtime, query, person);
    if (!(await useSecondFactor(runtime, query, person, code))) {
      const failures = (await countMfaFailure(query, org_id, session_id)) ?? limits.session_mfa_failures_max;
      if (failures >= limits.session_mfa_failures_max) await endLogin(query, org_id, session_id);
      // The count is committed: the fault is thrown outside.
      return null;
    }
    const begun = await beginSession(runtime, query, person, client);
    if ((await deleteSessions(query, org_id, user_id, { only: session_id })) === 0) throw noSession();
    return begun;
  });
  if (begun === null) throw new Fault("invalid_credentials");
  return begun;
}

/**
 * A login ends after a few wrong codes, but who knows the password begins as many logins as it likes, from as many addresses
 * as it has: at 1,000 of them a code would be guessed within the hour. The caller holds the person's row.
 */
async function refuseGuessing(
  { clock }: Pick<Runtime, "clock">,
  query: Query,
  { org_id, user_id }: Pick<Person, "org_id" | "user_id">,
): Promise<void> {
  const now_us = clock.now_us();
  const { failures, until_us } = await readMfaFailures(query, org_id, user_id, formatTimestampUs(now_us));
  if (failures < limits.person_mfa_failures_max) return;
  const retry_after_seconds = Math.ceil((until_us - now_us) / us_per_second);
  throw new Fault("rate_limit_exceeded", {
    details: [{ retry_after_seconds }],
    headers: { "retry-after": String(retry_after_seconds) },
  });
}
