/** SQL for the parts of the overview that are not figures. */
import type { Overview } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/**
 * Makes the rest of the transaction read along the indexes. PostgreSQL underestimates a window's decisions, because
 * the conditions on ids and times are redundant. So it read 660,000 decisions of all organizations for the newest 50,000 of a
 * month: 2.2 s instead of 0.2 s.
 */
export async function readAlongIndexes(query: Query): Promise<void> {
  await query("select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name");
}

/** Returns the review queue, without test mode. */
export async function readQueue(query: Query, org_id: string): Promise<Overview["queue"]> {
  const [queue] = await query<Overview["queue"]>(
    `select count(*)::integer as pending, min(created_at) as oldest_at, min(expires_at) as next_expires_at
     from escalations where org_id = $1 and status = 'pending' and mode = 'live'`,
    [org_id],
  );
  return queue ?? { pending: 0, oldest_at: null, next_expires_at: null };
}
