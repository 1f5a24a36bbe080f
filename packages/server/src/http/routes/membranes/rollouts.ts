import { advanceRollout } from "../../../operations/rollouts/advance-rollout.ts";
import { getRollout } from "../../../operations/rollouts/get-rollout.ts";
import { planRollout, removeRollout } from "../../../operations/rollouts/plan-rollout.ts";
import { returnRollout } from "../../../operations/rollouts/return-rollout.ts";
import { stopRollout } from "../../../operations/rollouts/stop-rollout.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Handlers } from "../../handler.ts";

type RolloutHandlers = Pick<
  Handlers,
  "getRollout" | "planRollout" | "removeRollout" | "advanceRollout" | "stopRollout" | "returnRollout"
>;

export function rolloutRoutes(runtime: Runtime): RolloutHandlers {
  return {
    async getRollout({ caller, params }) {
      return { status: 200, body: { rollout: await getRollout(runtime, caller, params.membrane_id) } };
    },
    async planRollout({ caller, params, body }) {
      return { status: 200, body: { rollout: await planRollout(runtime, caller, params.membrane_id, body) } };
    },
    async removeRollout({ caller, params }) {
      await removeRollout(runtime, caller, params.membrane_id);
      return { status: 204 };
    },
    async advanceRollout({ caller, params, body }) {
      return { status: 200, body: { rollout: await advanceRollout(runtime, caller, params.membrane_id, body) } };
    },
    async stopRollout({ caller, params, body }) {
      return { status: 200, body: { rollout: await stopRollout(runtime, caller, params.membrane_id, body) } };
    },
    async returnRollout({ caller, params, body }) {
      return { status: 200, body: { rollout: await returnRollout(runtime, caller, params.membrane_id, body) } };
    },
  };
}
