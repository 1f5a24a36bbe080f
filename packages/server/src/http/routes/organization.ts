/** The organization as a whole, over HTTP. */

import { readOverview } from "../../operations/membranes/read-overview.ts";
import { listAudit, readCaller } from "../../operations/organizations/read-organization.ts";
import type { Packs } from "../../operations/policies/read-packs.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Handlers } from "../handler.ts";

export function organizationRoutes(
  runtime: Runtime,
  packs: Packs,
): Pick<Handlers, "getCaller" | "getOverview" | "listAudit"> {
  return {
    async getCaller({ caller }) {
      return { status: 200, body: { caller: await readCaller(runtime, caller) } };
    },
    async getOverview({ caller, query }) {
      return { status: 200, body: { overview: await readOverview(runtime, packs, caller, query) } };
    },
    async listAudit({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, next_cursor } = await listAudit(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { audit: rows, next_cursor } };
    },
  };
}
