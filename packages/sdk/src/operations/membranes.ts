import type {
  BlockedTools,
  BlockedToolsInput,
  Coverage,
  GoLiveInput,
  HoldLabel,
  Membrane,
  MembraneChange,
  MembraneInput,
  MembraneLive,
  MembraneReadiness,
  MembraneReturned,
  MembraneSaved,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { CallOptions, Transport } from "../transport.ts";

export function membraneCalls(call: Transport) {
  const one = async (method: string, path: string, options: CallOptions = {}) =>
    (await call<{ membrane: Membrane }>(method, `/v1/membranes${path}`, options)).membrane;
  const save = (method: string, path: string, options: CallOptions) =>
    flat(call<MembraneSaved>(method, `/v1/membranes${path}`, options));
  const id = (membrane_id: string) => `/${encodeURIComponent(membrane_id)}`;

  return {
    /** Lists membranes, newest first. */
    listMembranes: (query: PageQuery = {}) =>
      call<Page<"membranes", Membrane>>("GET", "/v1/membranes", { query: { ...query } }),

    /** Creates a membrane in shadow mode. `warnings` as in `changeMembrane`. */
    createMembrane: (input: MembraneInput) => save("POST", "", { body: input, idempotency_key: newIdempotencyKey() }),

    getMembrane: (membrane_id: string) => one("GET", id(membrane_id)),

    /**
     * Replaces each given field, and each given member of thresholds and escalation. `warnings` report that the packs
     * and live policies together can exhaust the budget of a decision.
     */
    changeMembrane: (membrane_id: string, change: MembraneChange) => save("PATCH", id(membrane_id), { body: change }),

    /** Returns the rules that read the actions of the last 31 days. */
    getCoverage: async (membrane_id: string) =>
      (await call<{ coverage: Coverage }>("GET", `/v1/membranes${id(membrane_id)}/coverage`)).coverage,

    /** Returns the given tools whose calls are always blocked for the agent, each with a rule that blocks it. */
    findBlockedTools: async (input: BlockedToolsInput) =>
      (await call<BlockedTools>("POST", "/v1/tools/blocked", { body: input, repeatable: true })).blocked,

    /** Returns whether the membrane is ready to go live, by its decisions in shadow of the last 31 days. */
    getMembraneReadiness: async (membrane_id: string) =>
      (await call<{ readiness: MembraneReadiness }>("GET", `/v1/membranes${id(membrane_id)}/readiness`)).readiness,

    /** Says whether it was right to hold an action in shadow. */
    labelHold: async (intent_id: string, is_right: boolean) =>
      (
        await call<{ label: HoldLabel }>("PUT", `/v1/intents/${encodeURIComponent(intent_id)}/label`, {
          body: { is_right },
        })
      ).label,

    /**
     * Starts enforcing decisions. `not_ready` says why it was not ready. `next_steps` name the facts that were missing in
     * shadow mode. `moved` false: a second, different person must send the same.
     */
    goLive: (membrane_id: string, input: GoLiveInput = {}) =>
      flat(call<MembraneLive>("POST", `/v1/membranes${id(membrane_id)}/go-live`, { body: input })),

    /** Stops enforcing. Actions are still decided and recorded. All admins get a mail. `moved` as in `goLive`. */
    returnToShadow: (membrane_id: string, reason: string) =>
      flat(call<MembraneReturned>("POST", `/v1/membranes${id(membrane_id)}/return-to-shadow`, { body: { reason } })),
  };
}

/** Moves the other members of an answer into the membrane. */
async function flat<A extends MembraneLive | MembraneReturned | MembraneSaved>(answer: Promise<A>) {
  const { membrane, ...beside } = await answer;
  return { ...membrane, ...beside };
}
