import { listCounters } from "../../operations/counters/list-counters.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import type { Handlers } from "../handler.ts";

export function counterRoutes(runtime: Runtime): Pick<Handlers, "listCounters"> {
  return {
    async listCounters({ caller, query: { limit = pageLimitDefault, cursor, ...filter } }) {
      const { rows, next_cursor } = await listCounters(runtime, caller, filter, limit, cursor);
      return { status: 200, body: { counters: rows, next_cursor } };
    },
  };
}
