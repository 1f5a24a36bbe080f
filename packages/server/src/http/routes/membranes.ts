import {
  changeMembrane,
  createMembrane,
  getMembrane,
  goLive,
  listMembranes,
  returnToShadow,
} from "../../operations/membranes/membranes.ts";
import { readCoverage } from "../../operations/membranes/read-coverage.ts";
import { readGoLiveSteps, readKeySteps } from "../../operations/membranes/read-overview.ts";
import { getUsage } from "../../operations/organizations/read-usage.ts";
import type { Packs } from "../../operations/policies/read-packs.ts";
import { packCostWarnings } from "../../operations/policies/shared-cost.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { pageLimitDefault } from "../../store/rows/cursor.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

type MembraneHandlers = Pick<
  Handlers,
  | "listMembranes"
  | "createMembrane"
  | "getMembrane"
  | "changeMembrane"
  | "getCoverage"
  | "goLive"
  | "returnToShadow"
  | "getUsage"
>;

export function membraneRoutes(runtime: Runtime, packs: Packs): MembraneHandlers {
  return {
    async listMembranes({ caller, query: { limit = pageLimitDefault, cursor } }) {
      const { rows, next_cursor } = await listMembranes(runtime, caller, limit, cursor);
      return { status: 200, body: { membranes: rows, next_cursor } };
    },

    async createMembrane({ caller, body, idempotency_key }) {
      const { response, replayed } = await createMembrane(runtime, caller, body, idempotency_key);
      const Location = `/v1/membranes/${response.membrane_id}`;
      const warnings = await packCostWarnings(runtime, packs, caller.org_id, body);
      return answerOnce(replayed, { status: 201, body: { membrane: response, warnings }, headers: { Location } });
    },

    async getMembrane({ caller, params }) {
      return { status: 200, body: { membrane: await getMembrane(runtime, caller, params.membrane_id) } };
    },

    async changeMembrane({ caller, params, body }) {
      const membrane = await changeMembrane(runtime, caller, params.membrane_id, body);
      return {
        status: 200,
        body: {
          membrane,
          warnings: await packCostWarnings(runtime, packs, caller.org_id, body.packs === undefined ? {} : membrane),
        },
      };
    },

    async getCoverage({ caller, params }) {
      return { status: 200, body: { coverage: await readCoverage(runtime, caller, params.membrane_id) } };
    },

    async goLive({ caller, params }) {
      const next_steps = await readGoLiveSteps(runtime, packs, caller, params.membrane_id);
      const membrane = await goLive(runtime, caller, params.membrane_id);
      return { status: 200, body: { membrane, next_steps: [...next_steps, ...(await readKeySteps(runtime, caller))] } };
    },

    async returnToShadow({ caller, params }) {
      return { status: 200, body: { membrane: await returnToShadow(runtime, caller, params.membrane_id) } };
    },

    async getUsage({ caller }) {
      return { status: 200, body: { usage: await getUsage(runtime, caller) } };
    },
  };
}
