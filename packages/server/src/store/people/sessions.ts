/** SQL for sessions. A cookie's text is never here, only its SHA-256. Source: api.md §9. */
import type { OpenSession, Role } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { microseconds } from "../rows/microseconds.ts";
import { newestHead } from "../rows/newest-head.ts";

/** A session with its person, and the epoch of the organization from the same snapshot. */
export interface PresentedSession {
  readonly org_id: string;
  readonly session_id: string;
  readonly user_id: string;
  /** Only the second factor may be given. */
  readonly mfa_pending: boolean;
  readonly role: Role;
  readonly last_seen_us: number;
  readonly expires_at: string;
  readonly expires_us: number;
  readonly auth_epoch: number;
}

/** A session to write; times in RFC 3339. */
export interface NewSession {
  readonly org_id: string;
  readonly session_id: string;
  readonly user_id: string;
  /** Hex. */
  readonly token_sha256: string;
  readonly mfa_pending: boolean;
  readonly client_ip: string | null;
  readonly user_agent: string | null;
  readonly created_at: string;
  readonly expires_at: string;
}

/** The session with this token (hex of its SHA-256), whatever its age. System scope. */
export async function readSession(query: Query, token_sha256: string): Promise<PresentedSession | undefined> {
  const [session] = await query<PresentedSession>(
    `select s.org_id, s.session_id, s.user_id, s.mfa_pending, p.role,
       ${microseconds("s.last_seen_at")} as last_seen_us, s.expires_at, ${microseconds("s.expires_at")} as expires_us, h.auth_epoch
     from session_index i
     join sessions s on s.org_id = i.org_id and s.session_id = i.session_id
     join people p on p.org_id = s.org_id and p.user_id = s.user_id
     cross join lateral ${newestHead("s.org_id", "auth_epoch")} h
     where i.token_sha256 = decode($1, 'hex')`,
    [token_sha256],
  );
  return session;
}

/** Whether a session has not been ended; under the head's lock that holds until the transaction ends. */
export async function sessionStands(query: Query, org_id: string, session_id: string): Promise<boolean> {
  const rows = await query("select from sessions where org_id = $1 and session_id = $2", [org_id, session_id]);
  return rows.length > 0;
}

/** When a session began, in microseconds since 1970; undefined: it has ended. */
export async function readSessionBegin(query: Query, org_id: string, session_id: string): Promise<number | undefined> {
  const [row] = await query<{ created_us: number }>(
    `select ${microseconds("created_at")} as created_us from sessions where org_id = $1 and session_id = $2`,
    [org_id, session_id],
  );
  return row?.created_us;
}

/** Writes a session. System scope. */
export async function insertSession(query: Query, session: NewSession): Promise<void> {
  await query(
    `insert into sessions (org_id, session_id, user_id, token_sha256, mfa_pending, client_ip, user_agent, created_at, last_seen_at,
       expires_at)
     values ($1, $2, $3, decode($4, 'hex'), $5, $6, $7, $8::timestamptz, $8::timestamptz, $9::timestamptz)`,
    [
      session.org_id,
      session.session_id,
      session.user_id,
      session.token_sha256,
      session.mfa_pending,
      session.client_ip,
      session.user_agent,
      session.created_at,
      session.expires_at,
    ],
  );
  await query("insert into session_index (token_sha256, org_id, session_id) values (decode($1, 'hex'), $2, $3)", [
    session.token_sha256,
    session.org_id,
    session.session_id,
  ]);
}

/** No two clocks differ by more that are right: a login or link that was made later still was made by one that was wrong. */
export const clocks_differ_seconds = 300;

/**
 * The wrong second factors of a person's logins that could still be going on, and until when that is so for the last of them. Those
 * of a clock that was far ahead, by which every code was wrong, would else count until it had come so far again.
 */
export async function readMfaFailures(
  query: Query,
  org_id: string,
  user_id: string,
  now: string,
): Promise<{ readonly failures: number; readonly until_us: number }> {
  const [row] = await query<{ failures: number; until_us: number }>(
    `select coalesce(sum(mfa_failures), 0)::integer as failures, ${microseconds("coalesce(max(expires_at), $3::timestamptz)")} as until_us
     from sessions where org_id = $1 and user_id = $2 and mfa_pending and mfa_failures > 0 and expires_at > $3::timestamptz
       and created_at <= $3::timestamptz + make_interval(secs => ${clocks_differ_seconds})`,
    [org_id, user_id, now],
  );
  return row as { failures: number; until_us: number };
}

/** Ends a login that waits for its second factor. Its row stays for as long as it could have gone on: its failures count. */
export async function endLogin(query: Query, org_id: string, session_id: string): Promise<void> {
  await query(
    `delete from session_index i using sessions s
     where s.org_id = $1 and s.session_id = $2 and i.token_sha256 = s.token_sha256 and s.mfa_pending`,
    [org_id, session_id],
  );
}

/** Counts a wrong second factor and answers with how many there were; undefined: the session is gone. */
export async function countMfaFailure(query: Query, org_id: string, session_id: string): Promise<number | undefined> {
  const [row] = await query<{ mfa_failures: number }>(
    `update sessions set mfa_failures = mfa_failures + 1 where org_id = $1 and session_id = $2 returning mfa_failures`,
    [org_id, session_id],
  );
  return row?.mfa_failures;
}

/** Notes that a session and its person were seen. */
export async function noteSeen(
  query: Query,
  { org_id, session_id, user_id }: Pick<PresentedSession, "org_id" | "session_id" | "user_id">,
  at: string,
): Promise<void> {
  await query("update people set last_seen_at = $3::timestamptz where org_id = $1 and user_id = $2", [
    org_id,
    user_id,
    at,
  ]);
  await query("update sessions set last_seen_at = $3::timestamptz where org_id = $1 and session_id = $2", [
    org_id,
    session_id,
    at,
  ]);
}

/**
 * Ends a person's sessions: the one named, or all. Answers with how many. As in `endLogin`, logins with wrong second factors
 * keep their rows: who reads the mail of the address could otherwise guess on after each new password. Locks sessions before
 * what they are found by, as `deleteOldSessions` does. System scope.
 */
export async function deleteSessions(
  query: Query,
  org_id: string,
  user_id: string,
  which: { readonly only?: string } = {},
): Promise<number> {
  const rows = await query<{ session_id: string }>(
    `with ended as materialized (
       select session_id, token_sha256, mfa_pending and mfa_failures > 0 as guessed from sessions
       where org_id = $1 and user_id = $2 and ($3::text is null or session_id = $3) for update),
     deleted as (
       delete from sessions s using ended e where s.org_id = $1 and s.session_id = e.session_id and not e.guessed)
     delete from session_index i using ended e where i.token_sha256 = e.token_sha256 returning e.session_id`,
    [org_id, user_id, which.only ?? null],
  );
  return rows.length;
}

/** Up to `limit` of a person's sessions that have not ended, newest first, older than `before`. */
export function listSessions(
  query: Query,
  org_id: string,
  user_id: string,
  { now, seen_after }: { readonly now: string; readonly seen_after: string },
  limit: number,
  before: string | null,
): Promise<Omit<OpenSession, "current">[]> {
  return query(
    `select session_id, created_at, last_seen_at, expires_at, client_ip, user_agent from sessions
     where org_id = $1 and user_id = $2 and not mfa_pending and expires_at > $3::timestamptz and last_seen_at > $4::timestamptz
       and last_seen_at - $3::timestamptz < $3::timestamptz - $4::timestamptz
       and ($5::text is null or session_id < $5)
     order by session_id desc limit $6::integer`,
    [org_id, user_id, now, seen_after, before, limit],
  );
}

/**
 * Deletes up to 1,000 sessions that are over; answers with how many. Those that somebody works on are passed over: whoever is
 * seen at that moment would else be signed out, and whoever ends the sessions of a person has the organization wait. System scope.
 */
export async function deleteOldSessions(query: Query, now: string, seen_before: string): Promise<number> {
  const rows = await query(
    `with ended as materialized (
       select org_id, session_id, token_sha256 from sessions
       where expires_at <= $1::timestamptz or last_seen_at <= $2::timestamptz limit 1000 for update skip locked),
     of_cookies as (delete from session_index i using ended e where i.token_sha256 = e.token_sha256)
     delete from sessions s using ended e where s.org_id = e.org_id and s.session_id = e.session_id returning true as ended`,
    [now, seen_before],
  );
  return rows.length;
}
