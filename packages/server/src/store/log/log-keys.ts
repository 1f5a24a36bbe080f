import type { Query } from "../../ports.ts";

export interface LogKey {
  /** 8 hex digits. */
  readonly key_id: string;
  readonly public_key: Uint8Array;
  readonly seed_sealed: string;
  readonly created_at: string;
  /** When the key stops signing, perhaps in the future. */
  readonly retired_at: string | null;
}

export const seedContext = (org_id: string, key_id: string): string => `log_keys ${org_id} ${key_id}`;

/** Returns all keys, the oldest first. */
export function readLogKeys(query: Query, org_id: string): Promise<LogKey[]> {
  return query<LogKey>(
    `select key_id, public_key, seed_sealed, created_at, retired_at from log_keys where org_id = $1 order by created_at, key_id`,
    [org_id],
  );
}

/** Returns the keys that sign now, the newest first. */
export function readSigningKeys(query: Query, org_id: string): Promise<LogKey[]> {
  return query<LogKey>(
    `select key_id, public_key, seed_sealed, created_at, retired_at from log_keys
     where org_id = $1 and (retired_at is null or retired_at > statement_timestamp()) order by created_at desc, key_id`,
    [org_id],
  );
}

export async function insertLogKey(query: Query, org_id: string, key: Omit<LogKey, "retired_at">): Promise<void> {
  await query(
    `insert into log_keys (org_id, key_id, public_key, seed_sealed, created_at) values ($1, $2, $3::bytea, $4, $5::timestamptz)`,
    [org_id, key.key_id, key.public_key, key.seed_sealed, key.created_at],
  );
}

/** Sets the end of all keys that sign, unless an earlier one is set. */
export async function retireLogKeys(query: Query, org_id: string, overlap_days: number): Promise<void> {
  await query(
    `update log_keys set retired_at = least(retired_at, statement_timestamp() + make_interval(days => $2::integer))
     where org_id = $1 and (retired_at is null or retired_at > statement_timestamp())`,
    [org_id, overlap_days],
  );
}
