import Type, { type Static } from "typebox";
import { AuditListQuery } from "../audit.ts";
import { ErrorObject } from "../error.ts";
import { IntentListQuery } from "../intent.ts";
import { closed, oneOf, text, timeInput } from "../shapes.ts";

/** The formats of exports, by the end of the file's name. */
export const exportFormats = {
  csv: { media_type: "text/csv", meaning: "for spreadsheets: cells that a spreadsheet would run are made texts" },
  jsonl: { media_type: "application/jsonl", meaning: "one JSON object a line, with everything that the record has" },
  parquet: { media_type: "application/vnd.apache.parquet", meaning: "typed columns, for data tools" },
} as const satisfies Record<string, { media_type: string; meaning: string }>;

export type ExportFormat = keyof typeof exportFormats;

export const exportFormatNames = Object.keys(exportFormats) as ExportFormat[];

const format = oneOf(exportFormatNames, {
  description: exportFormatNames.map((name) => `${name}: ${exportFormats[name].meaning}`).join("; "),
});

const { limit: _, cursor: __, ...decisionFilters } = IntentListQuery.properties;
const { limit: ___, cursor: ____, ...auditFilters } = AuditListQuery.properties;

const as_of_seq = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "only what was recorded up to this record of the audit trail; default: the newest",
  }),
);

/** The filters of the lists, without their pages. */
export const DecisionExportQuery = closed({ format, ...decisionFilters, as_of_seq });
export type DecisionExportQuery = Static<typeof DecisionExportQuery>;

export const AuditExportQuery = closed({ format, ...auditFilters, as_of_seq });
export type AuditExportQuery = Static<typeof AuditExportQuery>;

/** `from` is included, `to` is not. */
export const ReceiptExportQuery = closed({
  from: Type.Optional(timeInput("decided at or after")),
  to: Type.Optional(timeInput("decided before")),
});
export type ReceiptExportQuery = Static<typeof ReceiptExportQuery>;

const count = () => Type.Integer({ minimum: 0 });

export const ExportProgress = Type.Object(
  {
    rows: count(),
    done: Type.Number({ minimum: 0, maximum: 1, description: "estimated share, by time" }),
  },
  { title: "ExportProgress" },
);
export type ExportProgress = Static<typeof ExportProgress>;

export const ExportSummary = Type.Object(
  {
    rows: count(),
    bytes: count(),
    sha256: Type.String({ pattern: "^[0-9a-f]{64}$", maxLength: 64, description: "of the file, in hex" }),
    as_of_seq: Type.Integer({
      minimum: 0,
      description: "the newest record of the audit trail that the export covers; later records are not in the file",
    }),
  },
  { title: "ExportSummary" },
);
export type ExportSummary = Static<typeof ExportSummary>;

/** A line for callers that accept application/x-ndjson: parts of the file, then the summary. */
export const ExportLine = Type.Union(
  [
    Type.Object({
      progress: ExportProgress,
      part: text(64 * 1_048_576, { description: "bytes of the file in base64" }),
    }),
    Type.Object({ export: ExportSummary }),
    ErrorObject,
  ],
  { title: "ExportLine", description: "a line: a part of the file with the progress, then the summary or an error" },
);
