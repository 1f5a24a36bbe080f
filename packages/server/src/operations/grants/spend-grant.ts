import { auditRow } from "../../store/audit/audit.ts";
import { commitOne } from "../../store/commit/commit-one.ts";
import type { CommitOutcome, DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { insertGrantUse, nextUse } from "../../store/grants/grants.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Recording } from "../runtime.ts";

/**
 * Commits a decision and counts the use of its grant in one transaction. Null: the grant is spent, revoked or expired,
 * and nothing was written.
 */
export async function spendGrant(
  runtime: Pick<Recording, "db" | "ids">,
  rows: DecisionRows,
  grant_id: string,
): Promise<CommitOutcome | null> {
  const { org_id, entry } = rows;
  const { intent_id, actor } = entry;
  return runtime.db.tenant(org_id, async (query) => {
    await lockHead(query, org_id);
    const use = await nextUse(query, org_id, grant_id);
    if (use === null) return null;
    const outcome = await commitOne(query, rows);
    if (outcome.outcome !== "committed") return outcome;
    const at = await databaseNow(query);
    await insertGrantUse(query, org_id, grant_id, { use, intent_id, at });
    const data = { grant_id, use };
    const row = auditRow(runtime.ids, { intent_id, at, actor, type: "grant_used", data });
    await changeHead(query, await lockHead(query, org_id), { audit: [row] });
    return outcome;
  });
}
