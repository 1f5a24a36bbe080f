/** SQL for the look whether people can still approve what the rules hold: when it is due, and what admins were told. */
import type { Query } from "../../ports.ts";

/** Makes a look due at once: people, keys or rules changed. */
export async function noteReviewersChanged(query: Query, org_id: string): Promise<void> {
  await query("update organizations set reviewers_due_at = statement_timestamp() where org_id = $1", [org_id]);
}

/** An organization whose look is due. */
export interface DueOrganization {
  readonly org_id: string;
  /** The ids of the rules that admins were told about. */
  readonly told: readonly string[];
}

/** Returns up to `limit` organizations whose look is due, the longest overdue first. System scope. */
export function readReviewersDue(query: Query, limit: number): Promise<{ readonly org_id: string }[]> {
  return query(
    "select org_id from organizations where reviewers_due_at <= statement_timestamp() order by reviewers_due_at limit $1::integer",
    [limit],
  );
}

/** Locks one organization whose look is due; undefined: another node looks, or it is not due any more. */
export async function takeReviewersDue(query: Query, org_id: string): Promise<DueOrganization | undefined> {
  const [row] = await query<DueOrganization>(
    `select org_id, reviewers_gone as told from organizations
     where org_id = $1 and reviewers_due_at <= statement_timestamp() for update skip locked`,
    [org_id],
  );
  return row;
}

/** Writes what admins were told. The next look is due when the next key of a reviewer expires. */
export async function writeReviewersTold(query: Query, org_id: string, told: readonly string[]): Promise<void> {
  await query(
    `update organizations set reviewers_gone = $2::text[], reviewers_due_at = (
       select min(expires_at) from api_keys where org_id = $1 and role in ('admin', 'operator', 'reviewer')
         and revoked_at is null and expires_at > statement_timestamp())
     where org_id = $1`,
    [org_id, told],
  );
}
