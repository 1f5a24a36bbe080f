import type {
  Coverage,
  Membrane,
  MembraneChange,
  MembraneInput,
  MembraneLive,
  MembraneSaved,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

/** The methods on membranes. Source: api.md §10. */
export function membraneCalls(call: Transport) {
  const one = async (method: string, path: string, options: CallOptions = {}) =>
    (await call<{ membrane: Membrane }>(method, `/v1/membranes${path}`, options)).membrane;
  const save = (method: string, path: string, options: CallOptions) =>
    flat(call<MembraneSaved>(method, `/v1/membranes${path}`, options));
  const id = (membrane_id: string) => `/${encodeURIComponent(membrane_id)}`;

  return {
    /** Newest first. */
    listMembranes: (query: PageQuery = {}) =>
      call<Page<"membranes", Membrane>>("GET", "/v1/membranes", { query: { ...query } }),

    /** Creates a membrane in shadow mode. `warnings` as of `changeMembrane`. */
    createMembrane: (input: MembraneInput) => save("POST", "", { body: input, idempotency_key: newIdempotencyKey() }),

    /** One membrane with its settings. */
    getMembrane: (membrane_id: string) => one("GET", id(membrane_id)),

    /**
     * Replaces each given field, of thresholds and escalation each given member. Its `warnings` say that the given packs and
     * live policies can exhaust the budget of a decision together.
     */
    changeMembrane: (membrane_id: string, change: MembraneChange) => save("PATCH", id(membrane_id), { body: change }),

    /** Which rules look at what agents asked for in the last 31 days. */
    getCoverage: async (membrane_id: string) =>
      (await call<{ coverage: Coverage }>("GET", `/v1/membranes${id(membrane_id)}/coverage`)).coverage,

    /** Begins to enforce the membrane's decisions. `next_steps` say which facts were missing in shadow. */
    goLive: (membrane_id: string) => flat(call<MembraneLive>("POST", `/v1/membranes${id(membrane_id)}/go-live`)),

    /** Goes on deciding, but stops enforcing. */
    returnToShadow: (membrane_id: string) => one("POST", `${id(membrane_id)}/return-to-shadow`),
  };
}

/** Puts what an answer has beside the membrane among the membrane's own members. */
async function flat<A extends MembraneLive | MembraneSaved>(answer: Promise<A>) {
  const { membrane, ...beside } = await answer;
  return { ...membrane, ...beside };
}
