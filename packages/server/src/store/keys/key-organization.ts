import type { Query } from "../../ports.ts";

/** The organization of a key; undefined when there is no such key. System scope: for the instance's operator only. */
export async function organizationOfKey(query: Query, key_id: string): Promise<string | undefined> {
  const [row] = await query<{ org_id: string }>("select org_id from api_keys where key_id = $1", [key_id]);
  return row?.org_id;
}
