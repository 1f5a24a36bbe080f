import { createGrant } from "../../operations/grants/create-grant.ts";
import { getGrant, listGrants } from "../../operations/grants/read-grants.ts";
import { revokeGrant } from "../../operations/grants/revoke-grant.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

type GrantHandlers = Pick<Handlers, "createGrant" | "listGrants" | "getGrant" | "revokeGrant">;

export function grantRoutes(runtime: Runtime): GrantHandlers {
  return {
    async createGrant({ caller, body, idempotency_key }) {
      const { response, replayed } = await createGrant(runtime, caller, body, idempotency_key);
      return answerOnce(replayed, { status: 201, body: { grant: response } });
    },
    async listGrants({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, next_cursor } = await listGrants(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { grants: rows, next_cursor } };
    },
    async getGrant({ caller, params }) {
      return { status: 200, body: await getGrant(runtime, caller, params.grant_id) };
    },
    async revokeGrant({ caller, params }) {
      await revokeGrant(runtime, caller, params.grant_id);
      return { status: 204 };
    },
  };
}
