import { limits } from "@countersign/contract";
import type { Db, Query, QueueStatement } from "../../ports.ts";
import { is_valid } from "./key-warnings.ts";

/**
 * SQL: the due warning of the key `k`, in days before its expiry, or null. A key with a shorter lifetime does not get
 * it.
 */
const stage = `case ${[...limits.key_expiry_days]
  .sort((a, b) => a - b)
  .map(
    (days) =>
      `when k.expires_at <= statement_timestamp() + interval '${days} days' and k.lifetime_seconds >= ${days * 86_400} then ${days}`,
  )
  .join(" ")} end`;

const ends_soon = `${is_valid} and k.expires_at <= statement_timestamp() + interval '${limits.key_expiry_days[0]} days'`;
const is_due = `${ends_soon} and ${stage} < coalesce(k.expiry_announced, 1000)`;

/** Returns organizations with a due warning, except `passed_over`. System scope. */
export async function organizationsToTellOfExpiry(
  query: Query,
  limit: number,
  passed_over: readonly string[],
): Promise<string[]> {
  const rows = await query<{ org_id: string }>(
    `select distinct k.org_id from api_keys k where ${is_due} and k.org_id <> all($2::text[]) limit $1::integer`,
    [limit, passed_over],
  );
  return rows.map(({ org_id }) => org_id);
}

export interface ExpiringKey {
  readonly key_id: string;
  readonly name: string | null;
  readonly role: string;
  readonly expires_at: string;
  readonly stage: number;
}

/** Returns the keys with a due warning, earliest expiry first, and marks the warnings as sent. */
export async function takeExpiringKeys(query: Query, org_id: string): Promise<ExpiringKey[]> {
  const keys = await query<ExpiringKey>(
    `select key_id, name, role, expires_at, ${stage} as stage from api_keys k where k.org_id = $1 and ${is_due}
     order by key_id for update`,
    [org_id],
  );
  await query(
    `update api_keys k set expiry_announced = u.stage from unnest($2::text[], $3::smallint[]) as u(key_id, stage)
     where k.org_id = $1 and k.key_id = u.key_id`,
    [org_id, keys.map(({ key_id }) => key_id), keys.map((key) => key.stage)],
  );
  return keys.sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1));
}

export const expiring_counted_max = 10_000;

const statement: QueueStatement = {
  name: "count-expiring-keys",
  text: `select ${limits.key_expiry_days
    .map((days) => `count(*) filter (where left_s <= ${days * 86_400})::integer as "${days}"`)
    .join(", ")}
    from (select extract(epoch from k.expires_at - statement_timestamp()) as left_s from api_keys k where ${ends_soon}
      order by k.expires_at limit $1::integer) soon`,
};

/** Counts the keys of all organizations that expire within each of `limits.key_expiry_days`. */
export async function countExpiringKeys(db: Pick<Db, "queued">): Promise<Readonly<Record<string, number>>> {
  const [counts] = await db.queued<Readonly<Record<string, number>>>(statement, [expiring_counted_max]);
  if (counts === undefined) throw new Error("the count returned no row");
  return counts;
}
