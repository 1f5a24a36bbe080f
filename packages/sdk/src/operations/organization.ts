import type {
  Attention,
  AuditExportQuery,
  AuditType,
  CallerInfo,
  DecisionExportQuery,
  ExportProgress,
  ExportSummary,
  OrgAuditRecord,
  OrganizationChange,
  OrganizationSettings,
  Overview,
  PipelineMode,
  ReceiptExportQuery,
  Usage,
} from "@countersign/contract";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

/** The window of `getOverview`, extended to whole hours. Default: the last 24 hours. */
export interface OverviewOptions {
  readonly from?: string;
  readonly to?: string;
  readonly membrane_id?: string;
  readonly mode?: PipelineMode;
}

/** `from` is included, `to` is not. */
export interface AuditQuery extends PageQuery {
  readonly type?: AuditType;
  readonly actor?: string;
  /** The members below make a search: a page may end early, see `searched_to` of the answer. */
  readonly by?: string;
  readonly agent_id?: string;
  readonly action?: string;
  readonly policy?: string;
  readonly text?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface ExportOptions {
  /** Gets the next bytes of the file, and how far the export is. Its promise delays the next part. */
  readonly on_part: (bytes: Uint8Array, progress: ExportProgress) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

export function organizationCalls(call: Transport) {
  async function exported(path: string, query: object, { on_part, signal }: ExportOptions): Promise<ExportSummary> {
    const onLine = (line: unknown) => {
      const { part, progress } = line as { readonly part?: string; readonly progress?: ExportProgress };
      if (part !== undefined && progress !== undefined) return on_part(bytesOf(part), progress);
    };
    const options = { query: { ...query }, signal, onLine };
    return (await call<{ export: ExportSummary }>("GET", path, options)).export;
  }
  return {
    /**
     * Exports the decisions of a filter as a file, part by part, newest first. Resolves after the last part. Rejects if
     * the file is incomplete; then drop its parts.
     */
    exportDecisions: (query: DecisionExportQuery, options: ExportOptions) =>
      exported("/v1/exports/decisions", query, options),

    /** Exports the organization's audit trail as a file. See `exportDecisions`. */
    exportAudit: (query: AuditExportQuery, options: ExportOptions) => exported("/v1/exports/audit", query, options),

    /**
     * Exports the receipts of a period's decisions, one a line, all under one checkpoint. See `exportDecisions`. Keep the bytes of
     * each line unchanged for `verifyReceipt`.
     */
    exportReceipts: (query: ReceiptExportQuery, options: ExportOptions) =>
      exported("/v1/exports/receipts", query, options),

    /** Returns who the service sees as the caller. */
    getCaller: async () => (await call<{ caller: CallerInfo }>("GET", "/v1/me")).caller,

    /** Returns counts of decisions in a window of time. */
    getOverview: async (query: OverviewOptions = {}) =>
      (await call<{ overview: Overview }>("GET", "/v1/overview", { query: { ...query } })).overview,

    /** Returns what needs a person now, once for each cause. */
    getAttention: async () => (await call<{ attention: Attention }>("GET", "/v1/attention")).attention,

    /** Lists the organization's audit trail, newest first. */
    listAudit: (query: AuditQuery = {}) =>
      call<Page<"audit", OrgAuditRecord> & { readonly searched_to?: string }>("GET", "/v1/audit", {
        query: { ...query },
      }),

    getOrganization: async () =>
      (await call<{ organization: OrganizationSettings }>("GET", "/v1/organization")).organization,

    changeOrganization: async (change: OrganizationChange) =>
      (await call<{ organization: OrganizationSettings }>("PATCH", "/v1/organization", { body: change })).organization,

    /** Returns how much of its plan the organization has used this month. */
    getUsage: async () => (await call<{ usage: Usage }>("GET", "/v1/usage")).usage,
  };
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
