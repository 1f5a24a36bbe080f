import type { Counter, CounterAdjustment, CounterAdjustmentInput, PipelineMode } from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

export interface CounterQuery extends PageQuery {
  /** Default: the default membrane. */
  readonly membrane_id?: string;
  /** Default: `live`. */
  readonly mode?: PipelineMode;
  /** As in policies: `spent` for `count.spent`. */
  readonly name?: string;
  /** An agent in the key. */
  readonly agent_id?: string;
}

export function counterCalls(call: Transport) {
  return {
    /** Lists the keys of counters with their present sums, by name and key. */
    listCounters: (query: CounterQuery = {}) =>
      call<Page<"counters", Counter>>("GET", "/v1/counters", { query: { ...query } }),

    /** Resets a key of a counter, or grants it more. If it is not `adjusted`, it waits for a second, different person. */
    adjustCounter: (name: string, input: CounterAdjustmentInput) =>
      call<CounterAdjustment>("POST", `/v1/counters/${encodeURIComponent(name)}/adjustments`, {
        body: input,
        idempotency_key: newIdempotencyKey(),
      }),
  };
}
