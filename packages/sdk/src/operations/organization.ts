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

/** The methods on the organization as a whole. */
export function organizationCalls(call: Transport) {
  return {
    /** Who the service takes this client for. */
    getCaller: async () => (await call<{ caller: CallerInfo }>("GET", "/v1/me")).caller,

    /** The decisions of a window of time, counted. */
    getOverview: async (query: OverviewOptions = {}) =>
      (await call<{ overview: Overview }>("GET", "/v1/overview", { query: { ...query } })).overview,

    /** The organization's audit trail, newest first. */
    listAudit: (query: AuditQuery = {}) =>
      call<Page<"audit", OrgAuditRecord>>("GET", "/v1/audit", { query: { ...query } }),

    /** The settings of the organization. */
    getOrganization: async () =>
      (await call<{ organization: OrganizationSettings }>("GET", "/v1/organization")).organization,

    /** Changes the settings of the organization. */
    changeOrganization: async (change: OrganizationChange) =>
      (await call<{ organization: OrganizationSettings }>("PATCH", "/v1/organization", { body: change })).organization,

    /** How much of its plan the organization has used this month. */
    getUsage: async () => (await call<{ usage: Usage }>("GET", "/v1/usage")).usage,
  };
}
