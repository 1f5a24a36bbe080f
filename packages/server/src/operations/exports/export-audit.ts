import type { AuditExportQuery, OrgAuditRecord } from "@countersign/contract";
import { auditColumns } from "@countersign/core";
import { readTrail, storableFilter } from "../audit/read-trail.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { asOfSeq, type ExportedFile, encoderFor, exportParts, oldestUs, page_rows, pagesUpTo } from "./export-file.ts";

/**
 * Exports the audit records of a filter up to the record `as_of_seq`, or the newest one. Faults: those of `asOfSeq`. Parts reject with a 401 fault after the caller's
 * key or session ended.
 */
export async function exportAudit(
  runtime: Pick<Runtime, "callers" | "db">,
  caller: Caller,
  { format, as_of_seq: given, ...filter }: AuditExportQuery,
): Promise<ExportedFile> {
  const { org_id } = caller;
  const stored = storableFilter(filter);
  const as_of_seq = await asOfSeq(runtime, org_id, given);
  const source = {
    timeOf: ({ at }: OrgAuditRecord) => at,
    pages: pagesUpTo(runtime, caller, as_of_seq, (query, before: number | null) =>
      readTrail(query, org_id, stored, before ?? as_of_seq + 1, page_rows),
    ),
  };
  const parts = exportParts(source, encoderFor(format, auditColumns), oldestUs(org_id, stored.from), as_of_seq);
  return { format, name: "audit", as_of_seq, parts };
}
