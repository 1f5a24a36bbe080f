import type { Query } from "../../ports.ts";

/** Returns an organization with rows that its ledger may not have; null: there is none. System scope. */
export async function readUnrecorded(query: Query): Promise<string | null> {
  const [row] = await query<{ org_id: string }>(
    "select org_id from organizations where not state_recorded order by org_id limit 1",
  );
  return row?.org_id ?? null;
}

/** Returns false if another node did it. The caller holds the lock of the head. */
export async function setRecorded(query: Query, org_id: string): Promise<boolean> {
  const rows = await query(
    "update organizations set state_recorded = true where org_id = $1 and not state_recorded returning true as changed",
    [org_id],
  );
  return rows.length > 0;
}
