import { listOverrides } from "../../operations/overrides/list-overrides.ts";
import { overrideBlock } from "../../operations/overrides/override-block.ts";
import { revokeOverride } from "../../operations/overrides/revoke-override.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

type OverrideHandlers = Pick<Handlers, "overrideBlock" | "listOverrides" | "revokeOverride">;

export function overrideRoutes(runtime: Runtime): OverrideHandlers {
  return {
    async overrideBlock({ caller, params, body, idempotency_key }) {
      const { response, replayed } = await overrideBlock(runtime, caller, params.intent_id, body, idempotency_key);
      const status = response.status === "pending_second" ? 202 : 201;
      return answerOnce(replayed, { status, body: { override: response } });
    },
    async listOverrides({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, next_cursor } = await listOverrides(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { overrides: rows, next_cursor } };
    },
    async revokeOverride({ caller, params }) {
      await revokeOverride(runtime, caller, params.override_id);
      return { status: 204 };
    },
  };
}
