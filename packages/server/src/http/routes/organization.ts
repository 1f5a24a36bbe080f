import { listAudit } from "../../operations/audit/read-trail.ts";
import { readAttention } from "../../operations/escalations/read-attention.ts";
import { readOverview } from "../../operations/membranes/read-overview.ts";
import { changeSettings, readSettings } from "../../operations/organizations/organization-settings.ts";
import { readCaller } from "../../operations/organizations/read-organization.ts";
import type { Packs } from "../../operations/policies/read-packs.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Handlers } from "../handler.ts";

export function organizationRoutes(
  runtime: Runtime,
  packs: Packs,
): Pick<
  Handlers,
  "getCaller" | "getOverview" | "getAttention" | "listAudit" | "getOrganization" | "changeOrganization"
> {
  return {
    async getCaller({ caller }) {
      return { status: 200, body: { caller: await readCaller(runtime, caller) } };
    },
    async getOrganization({ caller }) {
      return { status: 200, body: { organization: await readSettings(runtime, caller) } };
    },
    async changeOrganization({ caller, body }) {
      return { status: 200, body: { organization: await changeSettings(runtime, caller, body) } };
    },
    async getOverview({ caller, query }) {
      return { status: 200, body: { overview: await readOverview(runtime, packs, caller, query) } };
    },
    async getAttention({ caller }) {
      return { status: 200, body: { attention: await readAttention(runtime, caller) } };
    },
    async listAudit({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, ...page } = await listAudit(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { audit: rows, ...page } };
    },
  };
}
