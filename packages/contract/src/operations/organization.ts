import {
  AuditListQuery,
  CallerInfo,
  listed,
  OrgAuditRecord,
  Overview,
  OverviewQuery,
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
  listAudit: {
    ...common,
    path: "/v1/audit",
    summary: "Read the organization's audit trail",
    description: "Newest first. No operation changes or removes an audit record.",
    auth: ["operator", "auditor"],
    query: AuditListQuery,
    answers: { 200: { description: "Newest first.", schema: listed("audit", OrgAuditRecord) } },
  },
} as const satisfies Record<string, Operation>;
