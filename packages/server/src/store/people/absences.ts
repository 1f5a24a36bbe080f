/** SQL for absences and their delegates. The database's time decides if an absence holds. */
import type { Query } from "../../ports.ts";

/** Times are RFC 3339. */
export interface StoredAbsence {
  readonly user_id: string;
  readonly delegate: string;
  /** An admin named the delegate, who may vote in place of the absent person. */
  readonly by_admin: boolean;
  readonly starts_at: string;
  readonly ends_at: string;
}

const columns = "user_id, delegate, by_admin, starts_at, ends_at";
const holds = "starts_at <= statement_timestamp() and ends_at > statement_timestamp()";

export function readAbsences(query: Query, org_id: string, user_ids: readonly string[]): Promise<StoredAbsence[]> {
  return query<StoredAbsence>(
    `select ${columns} from absences where org_id = $1 and user_id = any($2::text[]) and ends_at > statement_timestamp()`,
    [org_id, user_ids],
  );
}

export function readAbsentNow(query: Query, org_id: string): Promise<StoredAbsence[]> {
  return query<StoredAbsence>(`select ${columns} from absences where org_id = $1 and ${holds} order by user_id`, [
    org_id,
  ]);
}

/** Returns current absences for which an admin named one of these delegates. */
export function readDelegations(query: Query, org_id: string, delegates: readonly string[]): Promise<StoredAbsence[]> {
  return query<StoredAbsence>(
    `select ${columns} from absences where org_id = $1 and delegate = any($2::text[]) and by_admin and ${holds} order by user_id`,
    [org_id, delegates],
  );
}

/** Replaces the person's earlier absence. */
export async function writeAbsence(
  query: Query,
  org_id: string,
  absence: StoredAbsence,
  named_by: string,
): Promise<void> {
  const { user_id, delegate, by_admin, starts_at, ends_at } = absence;
  await query(
    `insert into absences (org_id, user_id, delegate, by_admin, named_by, starts_at, ends_at)
     values ($1, $2, $3, $4::boolean, $5, $6::timestamptz, $7::timestamptz)
     on conflict (org_id, user_id) do update set delegate = excluded.delegate, by_admin = excluded.by_admin,
       named_by = excluded.named_by, starts_at = excluded.starts_at, ends_at = excluded.ends_at`,
    [org_id, user_id, delegate, by_admin, named_by, starts_at, ends_at],
  );
}

/** Returns false if there was none. */
export async function deleteAbsence(query: Query, org_id: string, user_id: string): Promise<boolean> {
  const rows = await query("delete from absences where org_id = $1 and user_id = $2 returning true as deleted", [
    org_id,
    user_id,
  ]);
  return rows.length > 0;
}
