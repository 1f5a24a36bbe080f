import { auditRow } from "../../store/audit/audit.ts";
import { countsOf } from "../../store/audit/state/counts-of.ts";
import { commitOne } from "../../store/commit/commit-one.ts";
import type { CommitOutcome, DecisionRows } from "../../store/commit/commit-writer-rows.ts";
import { moveCounted } from "../../store/counters/counters.ts";
import { canHandOn, holdApproval } from "../../store/escalations/approvals.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Recording } from "../runtime.ts";
import type { Resumed } from "./rest-on-equal.ts";

/**
 * Commits a decision that rests on an unclaimed approval of an equal action, and moves the approval to it, in one
 * transaction. Null: the approval was used, revoked, handed on or has expired, and nothing was written.
 */
export async function handOn(
  runtime: Pick<Recording, "db" | "ids">,
  rows: DecisionRows,
  resumed: Resumed,
): Promise<CommitOutcome | null> {
  const { org_id, entry } = rows;
  const { escalation_id, from, spends: spent } = resumed;
  return runtime.db.tenant(org_id, async (query) => {
    await lockHead(query, org_id);
    if (!(await canHandOn(query, org_id, resumed))) return null;
    const outcome = await commitOne(query, rows);
    if (outcome.outcome !== "committed") return outcome;
    const counts_of = await moveCounted(query, org_id, escalation_id, entry.intent_id);
    const { intent_id, actor } = entry;
    const at = await databaseNow(query);
    await holdApproval(query, org_id, escalation_id, { intent_id, spent, at, actor });
    const data = { escalation_id, handed_to: intent_id, ...countsOf(counts_of) };
    const row = auditRow(runtime.ids, { intent_id: from, at, actor, type: "approval_handed_on", data });
    await changeHead(query, await lockHead(query, org_id), { audit: [row] });
    return outcome;
  });
}
