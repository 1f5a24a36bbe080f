import type { Overview } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/**
 * Makes the rest of the transaction use indexes. PostgreSQL underestimates a window's decisions and read those of all
 * organizations: 2.2 s instead of 0.2 s.
 */
export async function readAlongIndexes(query: Query): Promise<void> {
  await query("select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name");
}

/** Without test mode. */
export async function readQueue(query: Query, org_id: string): Promise<Overview["queue"]> {
  const [queue] = await query<Overview["queue"]>(
    `select count(*)::integer as pending, min(created_at) as oldest_at, min(expires_at) as next_expires_at
     from escalations where org_id = $1 and status = 'pending' and mode = 'live'`,
    [org_id],
  );
  return queue ?? { pending: 0, oldest_at: null, next_expires_at: null };
}
