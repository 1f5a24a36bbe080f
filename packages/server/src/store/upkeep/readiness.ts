/** Checks whether the database is ready for decisions. */
import type { Query } from "../../ports.ts";

/**
 * Returns true if transactions may write. Otherwise throws the database's error, for example on a standby, without a
 * connection, or without a schema. The check is a real write. A read of `transaction_read_only` is not enough, because
 * a session keeps the read-only mode in which it was opened.
 */
export async function takesWrites(query: Query): Promise<boolean> {
  const rows = await query(
    `with written as (update instance set instance_id = instance_id where false)
     select instance_id from instance`,
  );
  return rows.length > 0;
}
