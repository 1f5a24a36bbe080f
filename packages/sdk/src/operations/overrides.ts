import type { Override, OverrideInput } from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

export interface OverrideQuery extends PageQuery {
  readonly agent_id?: string;
  readonly intent_id?: string;
}

export function overrideCalls(call: Transport) {
  return {
    /** Approves a blocked action for its next retry. `pending_second` while it waits for a second, different person. */
    overrideBlock: async (intent_id: string, input: OverrideInput) => {
      const path = `/v1/intents/${encodeURIComponent(intent_id)}/override`;
      const options = { body: input, idempotency_key: newIdempotencyKey() };
      return (await call<{ override: Override }>("POST", path, options)).override;
    },

    /** Lists overrides, newest first. */
    listOverrides: (query: OverrideQuery = {}) =>
      call<Page<"overrides", Override>>("GET", "/v1/overrides", { query: { ...query } }),

    /** Withdraws an unspent override. */
    revokeOverride: (override_id: string) => call<null>("DELETE", `/v1/overrides/${encodeURIComponent(override_id)}`),
  };
}
