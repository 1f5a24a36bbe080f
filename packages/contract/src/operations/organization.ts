import Type from "typebox";
import {
  Attention,
  AuditExportQuery,
  AuditList,
  AuditListQuery,
  CallerInfo,
  DecisionExportQuery,
  ExportLine,
  exportFormatNames,
  exportFormats,
  Overview,
  OverviewQuery,
  ReceiptExportQuery,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const common = { method: "GET", tag: "Organization", rate: "general" } as const;

export const organizationOperations = {
  getCaller: {
    ...common,
    path: "/v1/me",
    summary: "Read the caller: organization, role, scope",
    auth: "any",
    without_second_factor: true,
    answers: { 200: { description: "The caller.", schema: wrapped("caller", CallerInfo) } },
  },
  getOverview: {
    ...common,
    path: "/v1/overview",
    summary: "Count the decisions of a window of time",
    description:
      "Counts by time, verdict, mode, risk, policy and agent, with the duration of decisions and the review queue.",
    auth: ["reviewer", "auditor"],
    query: OverviewQuery,
    answers: { 200: { description: "The counts.", schema: wrapped("overview", Overview) } },
  },
  getAttention: {
    ...common,
    path: "/v1/attention",
    summary: "List what needs a person now, once for each cause",
    description:
      "Reviews that wait for the same missing fact, uncovered tool or missing reviewers are one item with their number. " +
      "Without test mode.",
    auth: ["reviewer", "auditor"],
    answers: { 200: { description: "The causes.", schema: wrapped("attention", Attention) } },
  },
  listAudit: {
    ...common,
    path: "/v1/audit",
    summary: "Read the organization's audit trail",
    description:
      "Newest first. No operation removes an audit record. Only an erasure changes one: it removes its content. A page of a search may be short: then `next_cursor` continues.",
    auth: ["operator", "auditor"],
    query: AuditListQuery,
    answers: { 200: { description: "Newest first.", schema: AuditList } },
  },
} as const satisfies Record<string, Operation>;

const file = {
  description: "The file, sent while it is made. A file that ends early breaks the connection.",
  schema: Type.String(),
  media_types: exportFormatNames.map((name) => exportFormats[name].media_type),
  headers: ["Content-Disposition", "X-Export-As-Of-Seq"],
  line: ExportLine,
} as const;

const how =
  "Newest first. The file covers the records up to `as_of_seq`, so rows that are written meanwhile are not in it. With " +
  '`Accept: application/x-ndjson` the answer has lines: `{"progress": …, "part": …}` with the next bytes of the file in base64, then ' +
  '`{"export": …}` or `{"error": …}`. Closing the connection cancels the export. See docs/how-to/export.md.';

const exporting = { method: "GET", tag: "Exports", rate: "general" } as const;

/** Files with all rows of a list. */
export const exportOperations = {
  exportDecisions: {
    ...exporting,
    path: "/v1/exports/decisions",
    summary: "Export intents with their decisions as a file",
    description: `${how} Values that a rule redacts or masks are not in the file. A key of role agent or host, or of scope agent, gets its own intents only.`,
    auth: "any",
    query: DecisionExportQuery,
    answers: { 200: file },
    refuses: ["forbidden"],
  },
  exportAudit: {
    ...exporting,
    path: "/v1/exports/audit",
    summary: "Export the organization's audit trail as a file",
    description: how,
    auth: ["operator", "auditor"],
    query: AuditExportQuery,
    answers: { 200: file },
  },
  exportReceipts: {
    ...exporting,
    path: "/v1/exports/receipts",
    summary: "Export the receipts of a period's decisions as a file",
    description:
      `${how} Each line is a receipt, byte for byte as GET /v1/intents/{intent_id}/receipt makes it. All have the same checkpoint, which covers the ` +
      "period. The service waits up to 3 s for such a checkpoint.",
    auth: ["operator", "auditor"],
    query: ReceiptExportQuery,
    answers: { 200: { ...file, media_types: [exportFormats.jsonl.media_type] } },
    refuses: ["receipt_not_ready"],
  },
} as const satisfies Record<string, Operation>;
