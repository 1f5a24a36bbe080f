import { adjustCounter } from "../../operations/counters/adjust-counter.ts";
import { listCounters } from "../../operations/counters/list-counters.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

export function counterRoutes(runtime: Runtime): Pick<Handlers, "listCounters" | "adjustCounter"> {
  return {
    async listCounters({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, next_cursor } = await listCounters(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { counters: rows, next_cursor } };
    },
    async adjustCounter({ caller, params, body, idempotency_key }) {
      const { response, replayed } = await adjustCounter(runtime, caller, params.name, body, idempotency_key);
      return answerOnce(replayed, { status: response.adjusted ? 200 : 202, body: response });
    },
  };
}
