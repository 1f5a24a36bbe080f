import type { Query } from "../../ports.ts";

/** Returns the organization of a key. System scope: only for the operator of the instance. */
export async function organizationOfKey(query: Query, key_id: string): Promise<string | undefined> {
  const [row] = await query<{ org_id: string }>("select org_id from api_keys where key_id = $1", [key_id]);
  return row?.org_id;
}
