/** SQL for sessions, by the SHA-256 of a cookie's text. They begin and end by the database's time. */
import { limits, type OpenSession, type Role } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";
import { newestHead } from "../rows/newest-head.ts";

/** A session with its person, and the organization's epoch from the same snapshot. */
export interface PresentedSession {
  readonly org_id: string;
  readonly session_id: string;
  readonly user_id: string;
  /** True: only the second factor may be sent. */
  readonly mfa_pending: boolean;
  readonly role: Role;
  /** True: the organization requires a second factor. The person has no authenticator, and the session is not strong. */
  readonly second_factor_missing: boolean;
  readonly expires_at: string;
  /** True: expired, or idle for too long. */
  readonly over: boolean;
  readonly unseen_seconds: number;
  readonly auth_epoch: number;
}

const is_open = `s.expires_at > statement_timestamp()
       and s.last_seen_at > statement_timestamp() - interval '${limits.session_idle_seconds} seconds'`;

/** Times are RFC 3339. */
export interface NewSession {
  readonly org_id: string;
  readonly session_id: string;
  readonly user_id: string;
  /** Hex. */
  readonly token_sha256: string;
  readonly mfa_pending: boolean;
  /** The session began with a passkey, or the provider confirmed more than one factor. */
  readonly strong: boolean;
  readonly client_ip: string | null;
  readonly user_agent: string | null;
  readonly created_at: string;
  readonly expires_at: string;
}

/** Also returns sessions that are over. System scope. */
export async function readSession(query: Query, token_sha256: string): Promise<PresentedSession | undefined> {
  const [found] = await query<{ org_id: string; session_id: string }>(
    "select org_id, session_id from session_index where token_sha256 = decode($1, 'hex')",
    [token_sha256],
  );
  if (found === undefined) return undefined;
  const [session] = await query<PresentedSession>(
    `select s.org_id, s.session_id, s.user_id, s.mfa_pending, p.role,
       o.second_factor_required and p.totp_confirmed_at is null and not s.strong as second_factor_missing,
       s.expires_at, not (${is_open}) as over, extract(epoch from clock_timestamp() - s.last_seen_at)::float8 as unseen_seconds,
       h.auth_epoch
     from sessions s
     join people p on p.org_id = s.org_id and p.user_id = s.user_id
     join organizations o on o.org_id = s.org_id
     cross join lateral ${newestHead("$1", "auth_epoch")} h
     where s.org_id = $1 and s.session_id = $2`,
    [found.org_id, found.session_id],
  );
  return session;
}

/** Returns true if the session has not ended. Under the head's lock, this holds until the transaction ends. */
export async function sessionStands(query: Query, org_id: string, session_id: string): Promise<boolean> {
  const rows = await query("select from sessions where org_id = $1 and session_id = $2", [org_id, session_id]);
  return rows.length > 0;
}

export async function isStrongSession(query: Query, org_id: string, session_id: string): Promise<boolean> {
  const rows = await query("select from sessions where org_id = $1 and session_id = $2 and strong", [
    org_id,
    session_id,
  ]);
  return rows.length > 0;
}

/** Undefined: the session has ended. */
export async function beganWithin(
  query: Query,
  org_id: string,
  session_id: string,
  seconds: number,
): Promise<boolean | undefined> {
  const [row] = await query<{ recent: boolean }>(
    `select created_at >= clock_timestamp() - make_interval(secs => $3::integer) as recent from sessions
     where org_id = $1 and session_id = $2`,
    [org_id, session_id, seconds],
  );
  return row?.recent;
}

/** System scope. */
export async function insertSession(query: Query, session: NewSession): Promise<void> {
  await query(
    `insert into sessions (org_id, session_id, user_id, token_sha256, mfa_pending, client_ip, user_agent, created_at, last_seen_at,
       expires_at, strong)
     values ($1, $2, $3, decode($4, 'hex'), $5, $6, $7, $8::timestamptz, $8::timestamptz, $9::timestamptz, $10)`,
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
      session.strong,
    ],
  );
  await query("insert into session_index (token_sha256, org_id, session_id) values (decode($1, 'hex'), $2, $3)", [
    session.token_sha256,
    session.org_id,
    session.session_id,
  ]);
}

/** Counts wrong second factors in unexpired logins. `left_seconds`: until the last of these logins expires. */
export async function readMfaFailures(
  query: Query,
  org_id: string,
  user_id: string,
): Promise<{ readonly failures: number; readonly left_seconds: number }> {
  const [row] = await query<{ failures: number; left_seconds: number }>(
    `select coalesce(sum(mfa_failures), 0)::integer as failures,
       coalesce(extract(epoch from max(expires_at) - clock_timestamp()), 0)::float8 as left_seconds
     from sessions
     where org_id = $1 and user_id = $2 and mfa_pending and mfa_failures > 0 and expires_at > clock_timestamp()`,
    [org_id, user_id],
  );
  return row as { failures: number; left_seconds: number };
}

/** Ends a login that waits for its second factor. Its row stays until it expires, because its failures count. */
export async function endLogin(query: Query, org_id: string, session_id: string): Promise<void> {
  const [login] = await query<{ token_sha256: Buffer }>(
    "select token_sha256 from sessions where org_id = $1 and session_id = $2 and mfa_pending",
    [org_id, session_id],
  );
  if (login !== undefined)
    await query("delete from session_index where token_sha256 = $1::bytea", [login.token_sha256]);
}

/** Returns the new count. Undefined: the session is gone. */
export async function countMfaFailure(query: Query, org_id: string, session_id: string): Promise<number | undefined> {
  const [row] = await query<{ mfa_failures: number }>(
    `update sessions set mfa_failures = mfa_failures + 1 where org_id = $1 and session_id = $2 returning mfa_failures`,
    [org_id, session_id],
  );
  return row?.mfa_failures;
}

export async function noteSeen(
  query: Query,
  { org_id, session_id, user_id }: Pick<PresentedSession, "org_id" | "session_id" | "user_id">,
): Promise<void> {
  await query("update people set last_seen_at = statement_timestamp() where org_id = $1 and user_id = $2", [
    org_id,
    user_id,
  ]);
  await query("update sessions set last_seen_at = statement_timestamp() where org_id = $1 and session_id = $2", [
    org_id,
    session_id,
  ]);
}

/**
 * Ends one or all sessions of a person and returns how many. Logins with wrong second factors keep their rows, so that
 * a reader of the person's mail cannot continue guessing after each new password. Locks `sessions` before
 * `session_index`. System scope.
 */
export async function deleteSessions(
  query: Query,
  org_id: string,
  user_id: string,
  which: { readonly only?: string } = {},
): Promise<number> {
  const ended = await query<{ token_sha256: Buffer }>(
    `with ended as materialized (
       select session_id, token_sha256, mfa_pending and mfa_failures > 0 as guessed from sessions
       where org_id = $1 and user_id = $2 and ($3::text is null or session_id = $3) for update),
     deleted as (
       delete from sessions s using ended e where s.org_id = $1 and s.session_id = e.session_id and not e.guessed)
     select token_sha256 from ended`,
    [org_id, user_id, which.only ?? null],
  );
  const rows = await query("delete from session_index where token_sha256 = any($1::bytea[]) returning true as ended", [
    ended.map(({ token_sha256 }) => token_sha256),
  ]);
  return rows.length;
}

/** Newest first, older than `before`. */
export function listSessions(
  query: Query,
  org_id: string,
  user_id: string,
  limit: number,
  before: string | null,
): Promise<Omit<OpenSession, "current">[]> {
  return query(
    `select session_id, created_at, last_seen_at, expires_at, client_ip, user_agent from sessions s
     where org_id = $1 and user_id = $2 and not mfa_pending and ${is_open} and ($3::text is null or session_id < $3)
     order by session_id desc limit $4::integer`,
    [org_id, user_id, before, limit],
  );
}

/**
 * Deletes up to 1,000 sessions that are over. Skips locked rows: another request notes the session as seen, or ends it
 * while it holds the head. System scope.
 */
export async function deleteOldSessions(query: Query): Promise<number> {
  const over = await query<{ org_id: string; session_id: string }>(
    `select org_id, session_id from sessions s where not (${is_open}) limit 1000`,
  );
  const ended: Buffer[] = [];
  for (const [org_id, sessions] of byOrganization(over)) {
    const rows = await query<{ token_sha256: Buffer }>(
      `delete from sessions where org_id = $1 and session_id in (
         select s.session_id from sessions s where s.org_id = $1 and s.session_id = any($2::text[]) and not (${is_open})
         for update skip locked)
       returning token_sha256`,
      [org_id, sessions.map(({ session_id }) => session_id)],
    );
    ended.push(...rows.map(({ token_sha256 }) => token_sha256));
  }
  await query("delete from session_index where token_sha256 = any($1::bytea[])", [ended]);
  return ended.length;
}
