import type { Query } from "../../ports.ts";

/**
 * Returns true if transactions may write; otherwise throws the database's error. The check is a real write, because a
 * session's `transaction_read_only` keeps its first value.
 */
export async function takesWrites(query: Query): Promise<boolean> {
  const rows = await query(
    `with written as (update instance set instance_id = instance_id where false)
     select instance_id from instance`,
  );
  return rows.length > 0;
}
