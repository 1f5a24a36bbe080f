/** SQL for the check that rules still have enough reviewers: when it is due, and which rules were mailed to admins. */
import type { Query } from "../../ports.ts";

/** Makes the check due at once, after a change of people, keys or rules. */
export async function noteReviewersChanged(query: Query, org_id: string): Promise<void> {
  await query("update organizations set reviewers_due_at = statement_timestamp() where org_id = $1", [org_id]);
}

/** An organization whose check is due. */
export interface DueOrganization {
  readonly org_id: string;
  /** The ids of the rules that were mailed to admins. */
  readonly gone: readonly string[];
}

/** Returns up to `limit` organizations whose check is due, the longest overdue first. System scope. */
export function readReviewersDue(query: Query, limit: number): Promise<{ readonly org_id: string }[]> {
  return query(
    "select org_id from organizations where reviewers_due_at <= statement_timestamp() order by reviewers_due_at limit $1::integer",
    [limit],
  );
}

/** Locks an organization whose check is due. Undefined: another node checks it, or the check is no longer due. */
export async function takeReviewersDue(query: Query, org_id: string): Promise<DueOrganization | undefined> {
  const [row] = await query<DueOrganization>(
    `select org_id, reviewers_gone as gone from organizations
     where org_id = $1 and reviewers_due_at <= statement_timestamp() for update skip locked`,
    [org_id],
  );
  return row;
}

/** Writes which rules were mailed to admins. The next check is due when the next key of a reviewer expires. */
export async function writeReviewersTold(query: Query, org_id: string, gone: readonly string[]): Promise<void> {
  await query(
    `update organizations set reviewers_gone = $2::text[], reviewers_due_at = (
       select min(expires_at) from api_keys where org_id = $1 and role in ('admin', 'operator', 'reviewer')
         and revoked_at is null and expires_at > statement_timestamp())
     where org_id = $1`,
    [org_id, gone],
  );
}
