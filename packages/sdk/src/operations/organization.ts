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

/** The window of `getOverview`, which is widened to whole hours. Without times: the 24 hours until now. */
export interface OverviewOptions {
  readonly from?: string;
  readonly to?: string;
  readonly membrane_id?: string;
  readonly mode?: PipelineMode;
}

/** Filters of `listAudit`. `from` is included, `to` is not. */
export interface AuditQuery extends PageQuery {
  readonly type?: AuditType;
  readonly actor?: string;
  readonly from?: string;
  readonly to?: string;
}

/** The methods on the organization. */
export function organizationCalls(call: Transport) {
  return {
    /** Returns the caller that the service sees. */
    getCaller: async () => (await call<{ caller: CallerInfo }>("GET", "/v1/me")).caller,

    /** Returns the counts of decisions in a window of time. */
    getOverview: async (query: OverviewOptions = {}) =>
      (await call<{ overview: Overview }>("GET", "/v1/overview", { query: { ...query } })).overview,

    /** Lists the organization's audit trail, newest first. */
    listAudit: (query: AuditQuery = {}) =>
      call<Page<"audit", OrgAuditRecord>>("GET", "/v1/audit", { query: { ...query } }),

    /** Returns the settings of the organization. */
    getOrganization: async () =>
      (await call<{ organization: OrganizationSettings }>("GET", "/v1/organization")).organization,

    /** Changes the settings of the organization. */
    changeOrganization: async (change: OrganizationChange) =>
      (await call<{ organization: OrganizationSettings }>("PATCH", "/v1/organization", { body: change })).organization,

    /** Returns how much of its plan the organization has used this month. */
    getUsage: async () => (await call<{ usage: Usage }>("GET", "/v1/usage")).usage,
  };
}
