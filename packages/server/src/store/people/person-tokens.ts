/**
 * SQL for mailed links and login challenges, by the SHA-256 of their texts (hex). They expire by the database's time.
 */
import { limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";

export type TokenKind = "signup" | "password" | "invitation" | "passkey" | "sso" | "chat_link" | "ruling";

const lifetime_seconds: Readonly<Record<TokenKind, number>> = {
  signup: limits.signup_link_seconds,
  password: limits.password_link_seconds,
  invitation: limits.invitation_link_seconds,
  passkey: limits.passkey_challenge_seconds,
  sso: limits.sso_login_seconds,
  chat_link: limits.chat_link_seconds,
  ruling: limits.ruling_challenge_seconds,
};

export interface PersonToken {
  /** Null: a signup. */
  readonly org_id: string | null;
  readonly subject: Readonly<Record<string, string>>;
}

/** System scope. */
export async function insertToken(
  query: Query,
  kind: TokenKind,
  token_sha256: string,
  org_id: string | null,
  subject: Readonly<Record<string, string>>,
): Promise<void> {
  await query(
    `insert into person_tokens (token_sha256, kind, org_id, subject, expires_at)
     values (decode($1, 'hex'), $2, $3, $4::json, now() + make_interval(secs => $5::integer))`,
    [token_sha256, kind, org_id, JSON.stringify(subject), lifetime_seconds[kind]],
  );
}

/** Reads a token without using it up. Undefined: unknown or expired. System scope. */
export async function readToken(query: Query, kind: TokenKind, token_sha256: string): Promise<PersonToken | undefined> {
  const [token] = await query<PersonToken>(
    `select org_id, subject from person_tokens
     where token_sha256 = decode($1, 'hex') and kind = $2 and expires_at > clock_timestamp()`,
    [token_sha256, kind],
  );
  return token;
}

/** Uses up a token. Of concurrent callers, one succeeds. Undefined: unknown or expired. System scope. */
export async function takeToken(query: Query, kind: TokenKind, token_sha256: string): Promise<PersonToken | undefined> {
  const [token] = await query<PersonToken>(
    `delete from person_tokens where token_sha256 = decode($1, 'hex') and kind = $2 and expires_at > statement_timestamp()
     returning org_id, subject`,
    [token_sha256, kind],
  );
  return token;
}

/** System scope. */
export async function deleteTokens(query: Query, tokens_sha256: readonly string[]): Promise<void> {
  await query(
    "delete from person_tokens where token_sha256 = any (array(select decode(hex, 'hex') from unnest($1::text[]) as t(hex)))",
    [tokens_sha256],
  );
}

/** Returns true if the person has an unused token from the last `seconds`. System scope. */
export async function hasRecentToken(
  query: Query,
  kind: TokenKind,
  org_id: string,
  user_id: string,
  seconds: number,
): Promise<boolean> {
  const rows = await query(
    `select from person_tokens
     where kind = $1 and org_id = $2 and subject ->> 'user_id' = $3
       and expires_at > clock_timestamp() + make_interval(secs => $4::integer) limit 1`,
    [kind, org_id, user_id, lifetime_seconds[kind] - seconds],
  );
  return rows.length > 0;
}

/** System scope. */
export async function deleteTokensOf(query: Query, kind: TokenKind, org_id: string, user_id: string): Promise<void> {
  await query("delete from person_tokens where kind = $1 and org_id = $2 and subject ->> 'user_id' = $3", [
    kind,
    org_id,
    user_id,
  ]);
}

/** Deletes up to 1,000 expired tokens that are not locked. System scope. */
export async function deleteOldTokens(query: Query): Promise<number> {
  const rows = await query(
    `delete from person_tokens where token_sha256 in (
       select token_sha256 from person_tokens where expires_at <= now() limit 1000 for update skip locked)
     returning true as deleted`,
  );
  return rows.length;
}
