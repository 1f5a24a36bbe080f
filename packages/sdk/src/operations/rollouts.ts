import type { Rollout, RolloutAdvance, RolloutInput, RolloutReason, RolloutReturn } from "@countersign/contract";
import type { Transport } from "../transport.ts";

export function rolloutCalls(call: Transport) {
  const path = (membrane_id: string) => `/v1/membranes/${encodeURIComponent(membrane_id)}/rollout`;
  const act = async (membrane_id: string, step: string, body: object) =>
    (await call<{ rollout: Rollout }>("POST", `${path(membrane_id)}/${step}`, { body })).rollout;

  return {
    /** Returns the rollout of a membrane. Null: it has none. */
    getRollout: async (membrane_id: string) =>
      (await call<{ rollout: Rollout | null }>("GET", path(membrane_id))).rollout,

    /** Plans the rollout of a membrane in shadow. Going live begins it. */
    planRollout: async (membrane_id: string, plan: RolloutInput = {}) =>
      (await call<{ rollout: Rollout }>("PUT", path(membrane_id), { body: plan })).rollout,

    /** Removes the plan of a membrane in shadow. */
    removeRollout: (membrane_id: string) => call<null>("DELETE", path(membrane_id)),

    /** Enforces decisions for the next share of agents. A stopped rollout needs a reason. */
    advanceRollout: (membrane_id: string, input: RolloutAdvance = {}) => act(membrane_id, "advance", input),

    /** Stops the advance. The present share stays enforced. */
    stopRollout: (membrane_id: string, input: RolloutReason) => act(membrane_id, "stop", input),

    /** Returns to an earlier stage. A second person may have to ask for it, too; see `requested_return`. */
    returnRollout: (membrane_id: string, input: RolloutReturn) => act(membrane_id, "return", input),
  };
}
