import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import {
  type CoveredTable,
  coveredTables,
  type RowState,
  readCovered,
} from "../../store/audit/state/covered-tables.ts";
import { changeHead, lockHead } from "../../store/organizations/heads.ts";
import { readUnrecorded, setRecorded } from "../../store/organizations/unrecorded.ts";
import { databaseNow } from "../../store/rows/database-now.ts";
import type { Runtime } from "../runtime.ts";

const rows_per_entry = 100;
const page_rows = 1_000;

/**
 * Writes the covered rows of an organization that an earlier version made into its ledger, once. Returns false if there
 * is no such organization. In one commit, because `audit verify` accepts one run of these entries.
 */
export async function recordState(runtime: Pick<Runtime, "db" | "ids" | "log">): Promise<boolean> {
  const org_id = await runtime.db.system(readUnrecorded);
  if (org_id === null) return false;
  const rows = await runtime.db.tenant(org_id, async (query) => {
    const head = await lockHead(query, org_id);
    if (!(await setRecorded(query, org_id))) return 0;
    const found = await coveredRows(query, org_id);
    const at = await databaseNow(query);
    const audit = pages(found).map((state) =>
      auditRow(runtime.ids, { intent_id: null, at, actor: "system", type: "state_recorded", data: { state } }),
    );
    await changeHead(query, head, { audit });
    return found.length;
  });
  runtime.log.info({ org_id, rows }, "wrote what decides into the audit trail, because an earlier version had not");
  return true;
}

async function coveredRows(query: Query, org_id: string): Promise<RowState[]> {
  const found: RowState[] = [];
  for (const [table, { begins_with_decision }] of Object.entries(coveredTables)) {
    if (begins_with_decision === true) continue;
    for (let after = ""; ; ) {
      const rows = await readCovered(query, org_id, table as CoveredTable, after, page_rows);
      found.push(...rows);
      const last = rows.at(-1);
      if (last === undefined || rows.length < page_rows) break;
      after = last.id;
    }
  }
  return found;
}

function pages(rows: readonly RowState[]): RowState[][] {
  const found: RowState[][] = [];
  for (let from = 0; from < rows.length; from += rows_per_entry) found.push(rows.slice(from, from + rows_per_entry));
  return found;
}
