/** Whether the database is ready for decisions. */
import type { Query } from "../ports.ts";

/**
 * True where transactions may write, which they may not on a standby that was not promoted. Throws what the database says
 * where it cannot be reached or has no schema yet.
 */
export async function takesWrites(query: Query): Promise<boolean> {
  const rows = await query("select instance_id from instance where current_setting('transaction_read_only') = 'off'");
  return rows.length > 0;
}
