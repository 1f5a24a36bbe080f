/** SQL for people: accounts with a role in one organization. */
import type { PersonRole, User } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { noteReviewersChanged } from "./reviewers-due.ts";
import { endSoloBeside } from "./solo.ts";

export interface Person {
  readonly org_id: string;
  readonly user_id: string;
  readonly email: string;
  /** Null: the person has none. */
  readonly name: string | null;
  readonly role: PersonRole;
  /** Argon2id in PHC form, or null. */
  readonly password_hash: string | null;
  readonly totp_sealed: string | null;
  readonly mfa_enabled: boolean;
  readonly notify: boolean;
  readonly mail_rhythm: "at_once" | "daily";
  /** UTC. */
  readonly digest_hour: number;
  readonly created_at: string;
  readonly last_seen_at: string | null;
}

const columns = `org_id, user_id, email, name, role, password_hash, totp_sealed, totp_confirmed_at is not null as mfa_enabled, notify, mail_rhythm, digest_hour,
  created_at, last_seen_at`;

export function shownUser(person: Person): User {
  const { user_id, email, name, role, mfa_enabled, notify, mail_rhythm, digest_hour, created_at, last_seen_at } =
    person;
  return { user_id, email, name, role, mfa_enabled, notify, mail_rhythm, digest_hour, created_at, last_seen_at };
}

/** Returns the address in lower case, for ASCII only, so that no other letter becomes an ASCII one. */
export function emailKey(email: string): string {
  return email.replaceAll(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}

export function emailDomain(email: string): string {
  return emailKey(email.slice(email.lastIndexOf("@") + 1));
}

/** Finds a person in any organization. Always runs two statements, so the duration reveals nothing. System scope. */
export async function findPerson(query: Query, email: string): Promise<Person | undefined> {
  const [found] = await query<{ org_id: string; user_id: string }>(
    "select org_id, user_id from person_index where email = $1",
    [emailKey(email)],
  );
  return readPerson(query, found?.org_id ?? "", found?.user_id ?? "");
}

export function readPerson(query: Query, org_id: string, user_id: string): Promise<Person | undefined> {
  return personWhere(query, org_id, user_id, "");
}

/**
 * Locks the row until the transaction ends. Lock order, against deadlocks: person, the organization's head, then
 * sessions, passkeys and links.
 */
export function lockPerson(query: Query, org_id: string, user_id: string): Promise<Person | undefined> {
  return personWhere(query, org_id, user_id, "for update");
}

async function personWhere(
  query: Query,
  org_id: string,
  user_id: string,
  lock: "" | "for update",
): Promise<Person | undefined> {
  const [person] = await query<Person>(`select ${columns} from people where org_id = $1 and user_id = $2 ${lock}`, [
    org_id,
    user_id,
  ]);
  return person;
}

/** Returns false if the address is taken. A second person ends solo mode. System scope. */
export async function insertPerson(
  query: Query,
  person: Pick<Person, "org_id" | "user_id" | "email" | "role" | "password_hash" | "created_at"> &
    Partial<Pick<Person, "name">>,
): Promise<boolean> {
  const { org_id, user_id, email, name = null, role, password_hash, created_at } = person;
  const taken = await query(
    "insert into person_index (email, org_id, user_id) values ($1, $2, $3) on conflict (email) do nothing returning true as mine",
    [emailKey(email), org_id, user_id],
  );
  if (taken.length === 0) return false;
  await query(
    `insert into people (org_id, user_id, email, role, password_hash, created_at, name)
     values ($1, $2, $3, $4, $5, $6::timestamptz, $7)`,
    [org_id, user_id, email, role, password_hash, created_at, name],
  );
  await endSoloBeside(query, org_id, user_id);
  await noteReviewersChanged(query, org_id);
  return true;
}

/** Newest first, below the id `before`. */
export function listPeople(
  query: Query,
  org_id: string,
  role: PersonRole | null,
  limit: number,
  before: string | null,
): Promise<Person[]> {
  return query<Person>(
    `select ${columns} from people
     where org_id = $1 and ($2::text is null or role = $2) and ($3::text is null or user_id < $3)
     order by user_id desc limit $4::integer`,
    [org_id, role, before, limit],
  );
}

export interface NamedReviewer {
  readonly id: string;
  /** The user_id, or the first key of the rotation chain. */
  readonly lineage_id: string;
  readonly role: PersonRole;
  /** True for a person, and for a key that is valid or has a valid rotation. */
  readonly valid: boolean;
}

/** Returns the people (user_id) and keys (key_id) among `ids`. */
export function readNamedReviewers(query: Query, org_id: string, ids: readonly string[]): Promise<NamedReviewer[]> {
  return query<NamedReviewer>(
    `select user_id as id, user_id as lineage_id, role, true as valid from people
     where org_id = $1 and user_id = any($2::text[])
     union all
     select key_id, lineage_id, role, exists (
       select from api_keys k where k.org_id = n.org_id and k.lineage_id = n.lineage_id
         and k.revoked_at is null and k.expires_at > clock_timestamp())
     from api_keys n where org_id = $1 and key_id = any($2::text[])`,
    [org_id, ids],
  );
}

export async function isPerson(query: Query, org_id: string, user_id: string): Promise<boolean> {
  const rows = await query("select from people where org_id = $1 and user_id = $2", [org_id, user_id]);
  return rows.length > 0;
}

export async function countPeople(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ n: number }>("select count(*)::integer as n from people where org_id = $1", [org_id]);
  return row?.n ?? 0;
}

export async function hasOtherAdmin(query: Query, org_id: string, user_id: string): Promise<boolean> {
  const rows = await query("select from people where org_id = $1 and role = 'admin' and user_id <> $2 limit 1", [
    org_id,
    user_id,
  ]);
  return rows.length > 0;
}

export async function updatePerson(
  query: Query,
  org_id: string,
  user_id: string,
  change: { readonly role?: PersonRole; readonly password_hash?: string },
): Promise<void> {
  await query(
    `update people set role = coalesce($3, role), password_hash = coalesce($4, password_hash),
       password_changed_at = case when $4::text is null then password_changed_at else statement_timestamp() end
     where org_id = $1 and user_id = $2`,
    [org_id, user_id, change.role ?? null, change.password_hash ?? null],
  );
}

export async function writeName(query: Query, org_id: string, user_id: string, name: string | null): Promise<void> {
  await query("update people set name = $3 where org_id = $1 and user_id = $2", [org_id, user_id, name]);
}

export type MailWishes = Pick<Person, "notify" | "mail_rhythm" | "digest_hour">;

/** SQL: the next time that it is this hour in UTC. */
export const nextDigestAt = (hour: string): string => {
  const today = `(date_trunc('day', statement_timestamp() at time zone 'UTC') + make_interval(hours => ${hour})) at time zone 'UTC'`;
  return `case when ${today} > statement_timestamp() then ${today} else ${today} + interval '1 day' end`;
};

export async function writeMailWishes(
  query: Query,
  org_id: string,
  user_id: string,
  { notify, mail_rhythm, digest_hour }: MailWishes,
): Promise<void> {
  await query(
    `update people set notify = $3::boolean, mail_rhythm = $4, digest_hour = $5::integer,
       digest_at = case when $3::boolean and $4 = 'daily' then ${nextDigestAt("$5::integer")} end
     where org_id = $1 and user_id = $2`,
    [org_id, user_id, notify, mail_rhythm, digest_hour],
  );
}

/** `moment` is RFC 3339. */
export async function passwordChangedAfter(
  query: Query,
  org_id: string,
  user_id: string,
  moment: string,
): Promise<boolean> {
  const rows = await query(
    `select from people where org_id = $1 and user_id = $2
       and password_changed_at > $3::timestamptz`,
    [org_id, user_id, moment],
  );
  return rows.length > 0;
}

/** Deletes a person with all sessions and credentials. System scope. */
export async function deletePerson(query: Query, org_id: string, user_id: string): Promise<void> {
  for (const table of [
    "people",
    "recovery_codes",
    "person_index",
    "passkeys",
    "passkey_index",
    "chat_links",
    "push_devices",
  ]) {
    await query(`delete from ${table} where org_id = $1 and user_id = $2`, [org_id, user_id]);
  }
  await query("delete from absences where org_id = $1 and (user_id = $2 or delegate = $2)", [org_id, user_id]);
}

/** `at` is RFC 3339. */
export async function noteRemoved(query: Query, org_id: string, email: string, at: string): Promise<void> {
  await query(
    `insert into removed_addresses (org_id, email, removed_at) values ($1, $2, $3::timestamptz)
     on conflict (org_id, email) do update set removed_at = excluded.removed_at`,
    [org_id, emailKey(email), at],
  );
}

/** Returns true if the address was removed and not invited again. */
export async function wasRemoved(query: Query, org_id: string, email: string): Promise<boolean> {
  const rows = await query("select from removed_addresses where org_id = $1 and email = $2", [org_id, emailKey(email)]);
  return rows.length > 0;
}

export async function forgetRemoved(query: Query, org_id: string, email: string): Promise<void> {
  await query("delete from removed_addresses where org_id = $1 and email = $2", [org_id, emailKey(email)]);
}

export async function writeTotpSeed(query: Query, org_id: string, user_id: string, sealed: string): Promise<void> {
  await query(
    `update people set totp_sealed = $3, totp_confirmed_at = null, totp_last_step = null where org_id = $1 and user_id = $2`,
    [org_id, user_id, sealed],
  );
}

/** Null: disables the second factor. */
export async function confirmTotpSeed(query: Query, org_id: string, user_id: string, at: string | null): Promise<void> {
  await query(
    `update people set totp_confirmed_at = $3::timestamptz, totp_sealed = case when $3 is null then null else totp_sealed end
     where org_id = $1 and user_id = $2`,
    [org_id, user_id, at],
  );
}

export const totp_step_seconds = 30;

/** Uses up a TOTP step. Of concurrent callers, one succeeds. Returns false if this or a later step was used. */
export async function useTotpStep(query: Query, org_id: string, user_id: string, step: number): Promise<boolean> {
  const rows = await query(
    `update people set totp_last_step = $3::bigint
     where org_id = $1 and user_id = $2 and (totp_last_step is null or totp_last_step < $3::bigint)
     returning true as mine`,
    [org_id, user_id, step],
  );
  return rows.length > 0;
}

/** `hashes` are hex. */
export async function writeRecoveryCodes(
  query: Query,
  org_id: string,
  user_id: string,
  hashes: readonly string[],
): Promise<void> {
  await query("delete from recovery_codes where org_id = $1 and user_id = $2", [org_id, user_id]);
  await query(
    `insert into recovery_codes (org_id, user_id, code_sha256)
     select $1, $2, decode(hash, 'hex') from json_array_elements_text($3::json) as hash`,
    [org_id, user_id, JSON.stringify(hashes)],
  );
}

/** Uses up a code. Returns false if the person has no such code. */
export async function useRecoveryCode(query: Query, org_id: string, user_id: string, hash: string): Promise<boolean> {
  const rows = await query(
    `delete from recovery_codes where org_id = $1 and user_id = $2 and code_sha256 = decode($3, 'hex') returning true as mine`,
    [org_id, user_id, hash],
  );
  return rows.length > 0;
}
