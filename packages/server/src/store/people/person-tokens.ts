/** SQL for links that were mailed and challenges that were set. Their texts are never here, only their SHA-256. */
import { limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { clock_ahead_seconds_max } from "../rows/clock-steps.ts";

/** What a token is for. */
export type TokenKind = "signup" | "password" | "invitation" | "passkey" | "sso";

const lifetime_seconds: Readonly<Record<TokenKind, number>> = {
  signup: limits.signup_link_seconds,
  password: limits.password_link_seconds,
  invitation: limits.invitation_link_seconds,
  passkey: limits.passkey_challenge_seconds,
  sso: limits.sso_login_seconds,
};

/** One that ends later than any can was made by a clock that was ahead, and would be good for as much longer. */
const ends_within_seconds_max = (kind: TokenKind): number => lifetime_seconds[kind] + clock_ahead_seconds_max;

/** `now` is parameter `$3`, `ends_within_seconds_max` is `$4`. */
const stillGood = "expires_at > $3::timestamptz and expires_at <= $3::timestamptz + make_interval(secs => $4::integer)";

/** A token that was presented. */
export interface PersonToken {
  /** Null: of a signup. */
  readonly org_id: string | null;
  readonly subject: Readonly<Record<string, string>>;
}

/** Keeps a token by the SHA-256 of its text (hex). System scope. */
export async function insertToken(
  query: Query,
  kind: TokenKind,
  token_sha256: string,
  org_id: string | null,
  subject: Readonly<Record<string, string>>,
  expires_at: string,
): Promise<void> {
  await query(
    `insert into person_tokens (token_sha256, kind, org_id, subject, expires_at)
     values (decode($1, 'hex'), $2, $3, $4::json, $5::timestamptz)`,
    [token_sha256, kind, org_id, JSON.stringify(subject), expires_at],
  );
}

/** The token, left as it is; undefined: there is none such, or its time is over. System scope. */
export async function readToken(
  query: Query,
  kind: TokenKind,
  token_sha256: string,
  now: string,
): Promise<PersonToken | undefined> {
  const [token] = await query<PersonToken>(
    `select org_id, subject from person_tokens
     where token_sha256 = decode($1, 'hex') and kind = $2 and ${stillGood}`,
    [token_sha256, kind, now, ends_within_seconds_max(kind)],
  );
  return token;
}

/** Uses up a token, for one caller only; undefined: there is none such, or its time is over. System scope. */
export async function takeToken(
  query: Query,
  kind: TokenKind,
  token_sha256: string,
  now: string,
): Promise<PersonToken | undefined> {
  const [token] = await query<PersonToken>(
    `delete from person_tokens where token_sha256 = decode($1, 'hex') and kind = $2 and ${stillGood}
     returning org_id, subject`,
    [token_sha256, kind, now, ends_within_seconds_max(kind)],
  );
  return token;
}

/** Takes a token back that was not used. System scope. */
export async function deleteToken(query: Query, token_sha256: string): Promise<void> {
  await query("delete from person_tokens where token_sha256 = decode($1, 'hex')", [token_sha256]);
}

/** Whether a person has a token of this kind that expires after `expires_after`, and no later than `expires_by`. System scope. */
export async function hasTokenOf(
  query: Query,
  kind: TokenKind,
  org_id: string,
  user_id: string,
  expires_after: string,
  expires_by: string,
): Promise<boolean> {
  const rows = await query(
    `select from person_tokens
     where kind = $1 and org_id = $2 and subject ->> 'user_id' = $3 and expires_at > $4::timestamptz and expires_at <= $5::timestamptz
     limit 1`,
    [kind, org_id, user_id, expires_after, expires_by],
  );
  return rows.length > 0;
}

/** Takes back every token of this kind that a person has. System scope. */
export async function deleteTokensOf(query: Query, kind: TokenKind, org_id: string, user_id: string): Promise<void> {
  await query("delete from person_tokens where kind = $1 and org_id = $2 and subject ->> 'user_id' = $3", [
    kind,
    org_id,
    user_id,
  ]);
}

/** Deletes up to 1,000 tokens whose time is over, but for those that somebody works on; answers with how many. System scope. */
export async function deleteOldTokens(query: Query, now: string): Promise<number> {
  const rows = await query(
    `delete from person_tokens where token_sha256 in (
       select token_sha256 from person_tokens where expires_at <= $1::timestamptz limit 1000 for update skip locked)
     returning true as deleted`,
    [now],
  );
  return rows.length;
}
