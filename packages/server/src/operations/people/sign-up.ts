import { rateCategories, type SignupInput, type VerifyEmailInput } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { findPerson, insertPerson } from "../../store/people/people.ts";
import { insertToken, readToken, takeToken } from "../../store/people/person-tokens.ts";
import { createOrganization } from "../organizations/create-organization.ts";
import type { Runtime } from "../runtime.ts";
import { rateLimitFault } from "../shared/rate-limit-fault.ts";
import { writeMail } from "./mail.ts";
import { newToken, tokenHash } from "./session.ts";

/**
 * Mails a link that creates the organization and its first admin. Answers the same if the address has an account; only
 * the mail differs. Faults: overloaded.
 */
export async function signUp(
  runtime: Pick<Runtime, "db" | "ids" | "sealer" | "passwords" | "mails">,
  input: SignupInput,
): Promise<void> {
  const password_hash = await runtime.passwords.hash(input.password);
  const token = newToken(runtime);
  const { email, org_name } = input;
  await runtime.db.system(async (query) => {
    await insertToken(query, "signup", tokenHash(token), null, { email, org_name, password_hash });
    await writeMail(runtime, query, "signup", { to: email, org_name, token });
  });
  runtime.mails.wake();
}

/**
 * Creates the organization of a signup, with a default membrane in shadow, and its first admin. Requires link and
 * password: the link proves the address, the password the requester. Faults: not_found (link unknown, used or expired,
 * or the address has an account), invalid_credentials (not the signup's password; the link stays valid),
 * rate_limit_exceeded (tries per link), overloaded.
 */
export async function verifyEmail(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "passwords" | "rateWindows">,
  { token, password }: VerifyEmailInput,
): Promise<void> {
  const created_at = formatTimestampUs(runtime.clock.now_us());
  const token_sha256 = tokenHash(token);
  // Check the link before the expensive check of the password, because strangers can invent links.
  const signup = await runtime.db.system((query) => readToken(query, "signup", token_sha256));
  if (signup === undefined) throw linkFault();
  const { email, org_name, password_hash } = signup.subject;
  if (email === undefined || org_name === undefined || password_hash === undefined)
    throw new Error("a signup lacks fields");
  await refuseGuessing(runtime, token_sha256);
  if (!(await runtime.passwords.verify(password_hash, password))) throw new Fault("invalid_credentials");
  await runtime.db.system(async (query) => {
    if ((await takeToken(query, "signup", token_sha256)) === undefined) throw linkFault();
    if ((await findPerson(query, email)) !== undefined) throw linkFault();
    const org_id = runtime.ids.next("organization");
    const about = { org_id, name: org_name, email, description: "", actor: "system" };
    if ((await createOrganization(runtime, query, about)) === null) throw new Error(`${org_id} exists already`);
    const user_id = runtime.ids.next("user");
    const person = { org_id, user_id, email, role: "admin", password_hash, created_at } as const;
    if (!(await insertPerson(query, person))) throw linkFault();
    const data = { user_id, email, role: "admin" };
    await withHead(query, org_id, {
      audit: [auditRow(runtime.ids, { intent_id: null, at: created_at, actor: user_id, type: "user_joined", data })],
    });
  });
}

/** Limits tries per link, so that a reader of the mail cannot guess the password. */
async function refuseGuessing(
  { rateWindows, clock }: Pick<Runtime, "rateWindows" | "clock">,
  token_sha256: string,
): Promise<void> {
  const now_ms = Math.floor(clock.now_us() / 1000);
  const tries_max = rateCategories.authentication.requests_max;
  const { allowed, retry_after } = await rateWindows.take(`verify_email ${token_sha256}`, tries_max, now_ms);
  if (!allowed) throw rateLimitFault(retry_after);
}

export function linkFault(): Fault {
  const message = "This link was used already or is too old: ask for a new one.";
  return faultAt("not_found", "/token", "link_over", message);
}
