import type { Decision, DecisionExportQuery } from "@countersign/contract";
import { decisionColumns, type ExportedDecision, exportedDecision } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { IntentFilter, ListedIntent } from "../../store/intents/intents.ts";
import { decisionFor, intentRecord, ownFilter, readMatching } from "../intents/read-intents.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { asOfSeq, type ExportedFile, encoderFor, exportParts, oldestUs, page_rows, pagesUpTo } from "./export-file.ts";

/**
 * Exports the decisions of a filter up to the audit record `as_of_seq`, or the newest one. An outcome is that of the time at
 * which its page is read. Faults: those of `ownFilter` and `asOfSeq`. Parts reject with a 401 fault after the caller's key or session ended.
 */
export async function exportDecisions(
  runtime: Pick<Runtime, "callers" | "db">,
  caller: Caller,
  { format, as_of_seq: given, ...filter }: DecisionExportQuery,
): Promise<ExportedFile> {
  const { org_id } = caller;
  const as_of_seq = await asOfSeq(runtime, org_id, given);
  const own: IntentFilter = { ...ownFilter(caller, filter), seq: as_of_seq };
  const source = {
    timeOf: ({ intent }: ExportedDecision) => intent.submitted_at,
    pages: pagesUpTo(runtime, caller, as_of_seq, (query, before: string | null) =>
      readPage(query, caller, own, before),
    ),
  };
  const parts = exportParts(source, encoderFor(format, decisionColumns), oldestUs(org_id, own.from), as_of_seq);
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
