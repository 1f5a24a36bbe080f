/**
 * SQL that deletes what no longer counts. It waits an hour after the end of a window, because the clock of a node may be
 * behind the database's, so that the window is still open there.
 */
import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

/** Deletes up to `rows` entries that no longer count, and all such entries of the same actions. System scope. */
export async function deleteEndedEntries(query: Query, rows: number): Promise<number> {
  const ended = await query<{ org_id: string; intent_id: string }>(
    "select org_id, intent_id from counter_entries where ends_at <= now() - interval '1 hour' limit $1::integer",
    [rows],
  );
  let count = 0;
  for (const [org_id, entries] of byOrganization(ended)) {
    const deleted = await query(
      `delete from counter_entries where org_id = $1 and intent_id = any($2::text[]) and ends_at <= now() - interval '1 hour'
       returning true as deleted`,
      [org_id, entries.map(({ intent_id }) => intent_id)],
    );
    count += deleted.length;
  }
  return count;
}

/** Returns organizations with keys that may have no entries. System scope. */
export async function organizationsWithEndedKeys(query: Query, rows: number): Promise<readonly string[]> {
  const ended = await query<{ org_id: string }>(
    "select distinct org_id from (select org_id from counters where ends_at <= now() - interval '1 hour' limit $1::integer) k",
    [rows],
  );
  return ended.map(({ org_id }) => org_id);
}

/** Deletes up to `rows` keys without entries. The caller holds the lock of the organization's head. */
export async function deleteEndedKeys(query: Query, org_id: string, rows: number): Promise<number> {
  const [deleted] = await query<{ keys: number }>(
    `with ended as (
       select k.mode, k.name, k.key_sha, (
         select max(e.ends_at) from counter_entries e
         where e.org_id = $1 and e.mode = k.mode and e.name = k.name and e.key_sha = k.key_sha) as last
       from counters k where k.org_id = $1 and k.ends_at <= now() - interval '1 hour' limit $2::integer),
     kept as (
       update counters k set ends_at = e.last from ended e
       where k.org_id = $1 and k.mode = e.mode and k.name = e.name and k.key_sha = e.key_sha and e.last is not null),
     deleted as (
       delete from counters k using ended e
       where k.org_id = $1 and k.mode = e.mode and k.name = e.name and k.key_sha = e.key_sha and e.last is null returning true),
     headed as (
       update org_heads h set counter_keys = counter_keys - (select count(*) from deleted)
       where h.org_id = $1 and h.audit_seq = (select max(audit_seq) from org_heads where org_id = $1))
     select count(*)::integer as keys from deleted`,
    [org_id, rows],
  );
  return deleted?.keys ?? 0;
}
