import { type LoginInput, limits } from "@countersign/contract";
import { Fault, faultAt } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { findPerson, lockPerson, type Person } from "../../store/people/people.ts";
import { countMfaFailure, deleteSessions, endLogin, readMfaFailures } from "../../store/people/sessions.ts";
import type { Runtime } from "../runtime.ts";
import { rateLimitFault } from "../shared/rate-limit-fault.ts";
import { type Begun, beginSession, type Client, findSession, noSession } from "./session.ts";
import { isTotp, useSecondFactor } from "./totp.ts";

/**
 * Begins a session with e-mail and password; with a second factor, the session waits for it. An unknown address takes
 * as long as a wrong password and gets the same answer. Faults: invalid_credentials, overloaded.
 */
export async function logIn(
  runtime: Pick<Runtime, "db" | "ids" | "passwords">,
  input: LoginInput,
  client: Client,
): Promise<Begun> {
  const known = await runtime.db.system((query) => findPerson(query, input.email));
  const right = await runtime.passwords.verify(known?.password_hash ?? null, input.password);
  if (known === undefined || !right) throw new Fault("invalid_credentials");
  return runtime.db.system(async (query) => {
    const person = await lockPerson(query, known.org_id, known.user_id);
    // The password was changed after the check, so it is wrong.
    if (person?.password_hash !== known.password_hash) throw new Fault("invalid_credentials");
    return beginSession(runtime, query, person, client, { mfa_pending: person.mfa_enabled });
  });
}

/**
 * Finishes a login with a TOTP or recovery code: a full session replaces the waiting one. Faults: missing_api_key (no
 * session), state_conflict (the session does not wait), invalid_credentials, rate_limit_exceeded (too many wrong codes;
 * recovery codes are still accepted).
 */
export async function verifySecondFactor(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer">,
  token: string | null,
  code: string,
  client: Client,
): Promise<Begun> {
  const begun = await runtime.db.system(async (query) => {
    if (token === null) throw noSession();
    const waiting = await findSession(query, token);
    if (waiting === undefined) throw noSession();
    if (!waiting.mfa_pending)
      throw faultAt("state_conflict", "", "not_allowed", "This session does not wait for a second factor.");
    const { org_id, user_id, session_id } = waiting;
    const person = await lockPerson(query, org_id, user_id);
    // An earlier code ended the session while this one waited for the lock.
    if (person === undefined || (await findSession(query, token)) === undefined) throw noSession();
    if (isTotp(code)) await refuseGuessing(query, person);
    if (!(await useSecondFactor(runtime, query, person, code))) {
      const failures = (await countMfaFailure(query, org_id, session_id)) ?? limits.session_mfa_failures_max;
      if (failures >= limits.session_mfa_failures_max) await endLogin(query, org_id, session_id);
      // Throw after the transaction, so that the count is committed.
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
 * Limits wrong codes over all logins, because 1,000 logins could guess a code within an hour. The caller holds the
 * person's row.
 */
async function refuseGuessing(query: Query, { org_id, user_id }: Pick<Person, "org_id" | "user_id">): Promise<void> {
  const { failures, left_seconds } = await readMfaFailures(query, org_id, user_id);
  if (failures < limits.person_mfa_failures_max) return;
  throw rateLimitFault(Math.ceil(left_seconds));
}
