/** SQL for agent tokens that count once. */
import { limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

/** One use of a token. */
export interface TokenUse {
  /** Of the issuer and `jti`: 64 lower-case hex digits. */
  readonly token_sha256: string;
  /** Of the request: 64 lower-case hex digits. */
  readonly used_by: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

/** A request repeats its use of a token only while its Idempotency-Key is surely known. An hour is for clocks that differ. */
const repeat_hours = limits.idempotency_kept_hours_min - 1;

/**
 * Records the use of a token. Returns false if another request used it before. A repetition of the same request may use it again. Of
 * concurrent requests exactly one gets true, because they wait for each other's row.
 */
export async function useToken(
  query: Query,
  org_id: string,
  { token_sha256, used_by, expires_at }: TokenUse,
): Promise<boolean> {
  const rows = await query(
    `insert into used_tokens as u (org_id, token_sha256, used_by, used_at, expires_at)
     values ($1, $2, $3, now(), $4::timestamptz)
     on conflict (org_id, token_sha256) do update set used_by = u.used_by
       where u.used_by = excluded.used_by and u.used_at > now() - interval '${repeat_hours} hours'
     returning true as used`,
    [org_id, token_sha256, used_by, expires_at],
  );
  return rows.length > 0;
}

/** Deletes up to `rows` uses of tokens that expired more than an hour ago, because clocks differ. System scope. */
export async function deleteOldTokenUses(query: Query, rows: number): Promise<number> {
  const is_old = "expires_at <= now() - interval '1 hour'";
  const old = await query<{ org_id: string; token_sha256: string }>(
    `select org_id, token_sha256 from used_tokens where ${is_old} limit $1::integer`,
    [rows],
  );
  let count = 0;
  for (const [org_id, uses] of byOrganization(old)) {
    const deleted = await query(
      `delete from used_tokens where org_id = $1 and token_sha256 = any($2::text[]) and ${is_old} returning true as deleted`,
      [org_id, uses.map(({ token_sha256 }) => token_sha256)],
    );
    count += deleted.length;
  }
  return count;
}
