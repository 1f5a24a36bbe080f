import type { Query } from "../../ports.ts";

export async function isSolo(query: Query, org_id: string): Promise<boolean> {
  const rows = await query("select from organizations where org_id = $1 and solo_ended_at is null", [org_id]);
  return rows.length > 0;
}

/**
 * Ends solo mode permanently if there is another person. Call it in the transaction that adds an account or a key. `<`
 * and `>` use the index, `<>` would not.
 */
export async function endSoloBeside(query: Query, org_id: string, person: string): Promise<void> {
  await query(
    `update organizations set solo_ended_at = statement_timestamp() where org_id = $1 and solo_ended_at is null and (
       exists (select from people where org_id = $1 and user_id <> $2)
       or exists (select from api_keys where org_id = $1 and person < $2)
       or exists (select from api_keys where org_id = $1 and person > $2))`,
    [org_id, person],
  );
}
