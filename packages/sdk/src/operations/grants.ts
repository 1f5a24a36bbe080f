import type { Grant, GrantInput, GrantUse } from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

export interface GrantQuery extends PageQuery {
  readonly agent_id?: string;
  /** Only grants that are neither spent nor expired nor revoked. */
  readonly live?: "true";
}

export function grantCalls(call: Transport) {
  return {
    /** Allows a limited number of actions that are similar to a held one. */
    createGrant: async (input: GrantInput) => {
      const options = { body: input, idempotency_key: newIdempotencyKey() };
      return (await call<{ grant: Grant }>("POST", "/v1/grants", options)).grant;
    },

    /** Lists grants, newest first. */
    listGrants: (query: GrantQuery = {}) => call<Page<"grants", Grant>>("GET", "/v1/grants", { query: { ...query } }),

    /** Returns a grant and the actions that it approved. */
    getGrant: (grant_id: string) =>
      call<{ grant: Grant; uses: GrantUse[] }>("GET", `/v1/grants/${encodeURIComponent(grant_id)}`),

    revokeGrant: (grant_id: string) => call<null>("DELETE", `/v1/grants/${encodeURIComponent(grant_id)}`),
  };
}
