import type { Decision, DecisionExportQuery } from "@countersign/contract";
import { decisionColumns, type ExportedDecision, exportedDecision } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { IntentFilter, ListedIntent } from "../../store/intents/intents.ts";
import { readAuditSeq } from "../../store/organizations/heads.ts";
import { decisionFor, intentRecord, ownFilter, readMatching } from "../intents/read-intents.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { type ExportedFile, exportParts, oldestUs, page_rows, pagesUpTo } from "./export-file.ts";

/**
 * Exports the decisions of a filter up to the newest audit record. An outcome is that of the time at which its
 * page is read. Faults: those of `ownFilter`. Parts reject with a 401 fault after the caller's key or session ended.
 */
export async function exportDecisions(
  runtime: Pick<Runtime, "callers" | "db">,
  caller: Caller,
  { format, ...filter }: DecisionExportQuery,
): Promise<ExportedFile> {
  const { org_id } = caller;
  const as_of_seq = await runtime.db.tenant(org_id, (query) => readAuditSeq(query, org_id));
  const own: IntentFilter = { ...ownFilter(caller, filter), seq: as_of_seq };
  const source = {
    columns: decisionColumns,
    timeOf: ({ intent }: ExportedDecision) => intent.submitted_at,
    pages: pagesUpTo(runtime, caller, as_of_seq, (query, before: string | null) =>
      readPage(query, caller, own, before),
    ),
  };
  const parts = exportParts(source, format, oldestUs(org_id, own.from), as_of_seq);
  return { format, name: "decisions", as_of_seq, parts };
}

async function readPage(query: Query, caller: Caller, filter: IntentFilter, before: string | null) {
  const { rows, more, last_read } = await readMatching(query, caller, filter, before, page_rows);
  const next = last_read ?? (more || rows.length === page_rows ? (rows.at(-1)?.intent_id ?? before) : null);
  return { rows: rows.map((row) => exportedRow(caller, row)), next };
}

function exportedRow(caller: Caller, row: ListedIntent): ExportedDecision {
  const decision: Decision = decisionFor(caller, row);
  return exportedDecision(row, intentRecord(row), decision);
}
