import type { Query } from "../../ports.ts";

export async function noteReviewersChanged(query: Query, org_id: string): Promise<void> {
  await query("update organizations set reviewers_due_at = statement_timestamp() where org_id = $1", [org_id]);
}

export interface DueOrganization {
  readonly org_id: string;
  readonly gone: readonly string[];
}

/** Longest overdue first. System scope. */
export function readReviewersDue(query: Query, limit: number): Promise<{ readonly org_id: string }[]> {
  return query(
    "select org_id from organizations where reviewers_due_at <= statement_timestamp() order by reviewers_due_at limit $1::integer",
    [limit],
  );
}

/** Locks the organization. Undefined: another node checks it, or nothing is due. */
export async function takeReviewersDue(query: Query, org_id: string): Promise<DueOrganization | undefined> {
  const [row] = await query<DueOrganization>(
    `select org_id, reviewers_gone as gone from organizations
     where org_id = $1 and reviewers_due_at <= statement_timestamp() for update skip locked`,
    [org_id],
  );
  return row;
}

/** Writes the rules that were mailed. The next check is due when a reviewer's key expires. */
export async function writeReviewersTold(query: Query, org_id: string, gone: readonly string[]): Promise<void> {
  await query(
    `update organizations set reviewers_gone = $2::text[], reviewers_due_at = (
       select min(expires_at) from api_keys where org_id = $1 and role in ('admin', 'operator', 'reviewer')
         and revoked_at is null and expires_at > statement_timestamp())
     where org_id = $1`,
    [org_id, gone],
  );
}
