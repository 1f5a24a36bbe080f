import { limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

export interface TokenUse {
  /** Of issuer and `jti`: 64 lower-case hex digits. */
  readonly token_sha256: string;
  /** Of the request: 64 lower-case hex digits. */
  readonly used_by: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

/** A request may repeat its use for this time: one hour less than idempotency keys are kept, because clocks differ. */
const repeat_hours = limits.idempotency_kept_hours_min - 1;

/** Returns false if another request already used the token. Concurrent requests wait for each other's row. */
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

/** Deletes uses of tokens an hour after their expiry, because clocks differ. System scope. */
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
