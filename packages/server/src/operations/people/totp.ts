import { limits, type PasswordProof, type RecoveryCodes, type TotpEnrolment } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs, sha256Hex } from "@countersign/core";
import { Secret, TOTP } from "otpauth";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import {
  confirmTotpSeed,
  lockPerson,
  type Person,
  totp_step_seconds,
  useRecoveryCode,
  useTotpStep,
  writeRecoveryCodes,
  writeTotpSeed,
} from "../../store/people/people.ts";
import { databaseNowUs } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { writeMail } from "./mail.ts";
import { provenPassword, requireOwner } from "./passwords.ts";
import {
  type Begun,
  type Client,
  countWrong,
  noSession,
  personCalling,
  replaceSessions,
  requireStanding,
} from "./session.ts";

type FactorChange = Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "mails">;

const seed_chars = 20;
const recovery_code_chars = 10;

export function totpContext({ org_id, user_id }: Pick<Person, "org_id" | "user_id">): string {
  return `${org_id} ${user_id} totp`;
}

function totpOf(seed: string, label: string): TOTP {
  return new TOTP({
    issuer: "Countersign",
    label,
    secret: Secret.fromUTF8(seed),
    algorithm: "SHA1",
    digits: 6,
    period: totp_step_seconds,
  });
}

export function isTotp(code: string): boolean {
  return /^\d{6}$/.test(plainCode(code));
}

function plainCode(code: string): string {
  return code.replaceAll(/[\s-]/g, "");
}

/**
 * Uses up a TOTP or recovery code in the caller's transaction; false: wrong or used. Codes of the neighbouring periods
 * are valid, because clocks differ.
 */
export async function useSecondFactor(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  person: Person,
  code: string,
): Promise<boolean> {
  const { org_id, user_id } = person;
  if (isTotp(code)) return useTotp(runtime, query, person, code);
  if (!(await useRecoveryCode(query, org_id, user_id, recoveryHash(code)))) return false;
  const at = formatTimestampUs(runtime.clock.now_us());
  await withHead(query, org_id, {
    audit: [auditRow(runtime.ids, { intent_id: null, at, actor: user_id, type: "recovery_code_used", data: {} })],
  });
  return true;
}

/** Uses up a TOTP code in the caller's transaction, which holds the person's row; false: wrong or used. */
export async function useTotp(
  runtime: Pick<Runtime, "sealer">,
  query: Query,
  person: Person,
  code: string,
): Promise<boolean> {
  if (person.totp_sealed === null) return false;
  // Database time, because the stored step must mean the same on every node.
  const now_ms = Math.floor((await databaseNowUs(query)) / 1000);
  const totp = totpOf(runtime.sealer.open(person.totp_sealed, totpContext(person)), person.email);
  const delta = totp.validate({ token: plainCode(code), timestamp: now_ms, window: 1 });
  if (delta === null) return false;
  const step = Math.floor(now_ms / 1000 / totp_step_seconds) + delta;
  return useTotpStep(query, person.org_id, person.user_id, step);
}

/**
 * Creates a seed, to be confirmed by a first code. Faults: state_conflict (the second factor is on), those of
 * provenPassword and requireOwner.
 */
export async function enrolTotp(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "passwords">,
  caller: Caller,
  { password }: PasswordProof,
): Promise<TotpEnrolment> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const proven = password === undefined ? null : await provenPassword(runtime, caller, password);
  const seed = runtime.ids.secret(seed_chars);
  return runtime.db.tenant(org_id, async (query) => {
    const person = await personOf(query, org_id, user_id);
    if (person.mfa_enabled) throw onAlready();
    await requireOwner(query, person, { ...caller, session_id }, proven);
    await writeTotpSeed(query, org_id, user_id, runtime.sealer.seal(seed, totpContext(person)));
    const totp = totpOf(seed, person.email);
    return { secret: totp.secret.base32, uri: totp.toString() };
  });
}

/**
 * Switches the second factor on, returns recovery codes, and replaces all sessions of the person by a new one, because
 * the old cookie may be stolen. Faults: state_conflict (already on, or no seed), invalid_credentials, missing_api_key
 * (the session ended).
 */
export async function confirmTotp(
  runtime: FactorChange,
  caller: Caller,
  code: string,
  client: Client,
): Promise<{ readonly codes: RecoveryCodes; readonly begun: Begun }> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const done = await runtime.db.system(async (query) => {
    const person = await personOf(query, org_id, user_id);
    if (person.mfa_enabled) throw onAlready();
    if (person.totp_sealed === null) throw notNow("Begin with POST /v1/auth/totp/enrol: there is no seed to confirm.");
    if (!(await useTotp(runtime, query, person, code))) throw new Fault("invalid_credentials");
    const at = formatTimestampUs(runtime.clock.now_us());
    await confirmTotpSeed(query, org_id, user_id, at);
    const codes = await newRecoveryCodes(runtime, query, person, "mfa_enabled");
    return { codes, begun: await replaceSessions(runtime, query, person, session_id, client) };
  });
  runtime.mails.wake();
  return done;
}

/** Switches the second factor off. Faults: state_conflict (already off), invalid_credentials. */
export async function disableTotp(runtime: FactorChange, caller: Caller, code: string): Promise<void> {
  await withSecondFactor(runtime, caller, code, async (query, person) => {
    const { org_id, user_id } = person;
    await confirmTotpSeed(query, org_id, user_id, null);
    await writeRecoveryCodes(query, org_id, user_id, []);
    await tellChange(runtime, query, person, "mfa_disabled");
  });
}

/** Replaces the recovery codes. Faults: state_conflict (no second factor), invalid_credentials. */
export function replaceRecoveryCodes(runtime: FactorChange, caller: Caller, code: string): Promise<RecoveryCodes> {
  return withSecondFactor(runtime, caller, code, (query, person) =>
    newRecoveryCodes(runtime, query, person, "recovery_codes_replaced"),
  );
}

async function withSecondFactor<T>(
  runtime: FactorChange,
  caller: Caller,
  code: string,
  work: (query: Query, person: Person) => Promise<T>,
): Promise<T> {
  const { org_id, user_id, session_id } = personCalling(caller);
  const done = await runtime.db.system(async (query) => {
    const person = await personOf(query, org_id, user_id);
    // The session may have ended while waiting for the person's row.
    await requireStanding(query, { org_id, session_id });
    if (!person.mfa_enabled) throw notNow("The second factor is off.");
    if (await useSecondFactor(runtime, query, person, code)) return { answer: await work(query, person) };
    await countWrong(runtime, query, person, session_id);
    return null;
  });
  if (done === null) throw new Fault("invalid_credentials");
  runtime.mails.wake();
  return done.answer;
}

async function newRecoveryCodes(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  person: Person,
  change: "mfa_enabled" | "recovery_codes_replaced",
): Promise<RecoveryCodes> {
  const recovery_codes = Array.from({ length: limits.recovery_codes }, () => {
    const text = runtime.ids.secret(recovery_code_chars);
    return `${text.slice(0, recovery_code_chars / 2)}-${text.slice(recovery_code_chars / 2)}`;
  });
  await writeRecoveryCodes(query, person.org_id, person.user_id, recovery_codes.map(recoveryHash));
  await tellChange(runtime, query, person, change);
  return { recovery_codes };
}

async function tellChange(
  runtime: Pick<Runtime, "clock" | "ids" | "sealer">,
  query: Query,
  { org_id, user_id, email }: Person,
  change: "mfa_enabled" | "mfa_disabled" | "recovery_codes_replaced",
): Promise<void> {
  const at = formatTimestampUs(runtime.clock.now_us());
  await withHead(query, org_id, {
    audit: [auditRow(runtime.ids, { intent_id: null, at, actor: user_id, type: change, data: {} })],
  });
  await writeMail(runtime, query, "account", { to: email, change });
}

function recoveryHash(code: string): string {
  return sha256Hex(plainCode(code));
}

async function personOf(query: Query, org_id: string, user_id: string): Promise<Person> {
  const person = await lockPerson(query, org_id, user_id);
  if (person === undefined) throw noSession();
  return person;
}

function onAlready(): Fault {
  return notNow("The second factor is on: switch it off before setting up another.");
}

function notNow(message: string): Fault {
  return faultAt("state_conflict", "", "not_allowed", message);
}
