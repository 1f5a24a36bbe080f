/** SQL for the overview that is not read from figures. */
import type { Overview } from "@countersign/contract";
import type { Query } from "../../ports.ts";

/**
 * Has what the rest of the transaction reads read along the indexes. Of a window's decisions PostgreSQL guesses a share of the
 * share that there are (ids and times say the same twice), so it read 660,000 of all organizations for the newest 50,000 of a
 * month: 2.2 s in place of 0.2.
 */
export async function readAlongIndexes(query: Query): Promise<void> {
  await query("select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name");
}

/** What waits for people now, test mode left out. */
export async function readQueue(query: Query, org_id: string): Promise<Overview["queue"]> {
  const [queue] = await query<Overview["queue"]>(
    `select count(*)::integer as pending, min(created_at) as oldest_at, min(expires_at) as next_expires_at
     from escalations where org_id = $1 and status = 'pending' and mode = 'live'`,
    [org_id],
  );
  return queue ?? { pending: 0, oldest_at: null, next_expires_at: null };
}
