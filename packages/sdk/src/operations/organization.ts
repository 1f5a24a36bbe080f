import type {
  AuditType,
  CallerInfo,
  OrgAuditRecord,
  OrganizationChange,
  OrganizationSettings,
  Overview,
  PipelineMode,
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
  readonly from?: string;
  readonly to?: string;
}

export function organizationCalls(call: Transport) {
  return {
    /** Returns who the service sees as the caller. */
    getCaller: async () => (await call<{ caller: CallerInfo }>("GET", "/v1/me")).caller,

    /** Returns counts of decisions in a window of time. */
    getOverview: async (query: OverviewOptions = {}) =>
      (await call<{ overview: Overview }>("GET", "/v1/overview", { query: { ...query } })).overview,

    /** Lists the organization's audit trail, newest first. */
    listAudit: (query: AuditQuery = {}) =>
      call<Page<"audit", OrgAuditRecord>>("GET", "/v1/audit", { query: { ...query } }),

    getOrganization: async () =>
      (await call<{ organization: OrganizationSettings }>("GET", "/v1/organization")).organization,

    changeOrganization: async (change: OrganizationChange) =>
      (await call<{ organization: OrganizationSettings }>("PATCH", "/v1/organization", { body: change })).organization,

    /** Returns how much of its plan the organization has used this month. */
    getUsage: async () => (await call<{ usage: Usage }>("GET", "/v1/usage")).usage,
  };
}
