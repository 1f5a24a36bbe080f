/** Whether the database is ready for decisions. */
import type { Query } from "../../ports.ts";

/**
 * True where transactions may write. Throws what the database says where they may not, as on a standby that was not promoted,
 * where it cannot be reached, or has no schema yet. Only asked (`transaction_read_only`), a session that was opened while
 * nothing could be written was kept and went on saying so.
 */
export async function takesWrites(query: Query): Promise<boolean> {
  const rows = await query(
    `with written as (update instance set instance_id = instance_id where false)
     select instance_id from instance`,
  );
  return rows.length > 0;
}
