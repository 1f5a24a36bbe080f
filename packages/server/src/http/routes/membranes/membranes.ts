import { goLiveSteps } from "@countersign/core";
import { findBlockedTools } from "../../../operations/membranes/find-blocked-tools.ts";
import { goLive } from "../../../operations/membranes/go-live.ts";
import { labelHold } from "../../../operations/membranes/label-hold.ts";
import { changeMembrane, createMembrane, getMembrane, listMembranes } from "../../../operations/membranes/membranes.ts";
import { readCoverage } from "../../../operations/membranes/read-coverage.ts";
import { readKeySteps } from "../../../operations/membranes/read-overview.ts";
import { readReadiness } from "../../../operations/membranes/read-readiness.ts";
import { returnToShadow } from "../../../operations/membranes/return-to-shadow.ts";
import { getUsage } from "../../../operations/organizations/read-usage.ts";
import type { Packs } from "../../../operations/policies/read-packs.ts";
import { packCostWarnings } from "../../../operations/policies/shared-cost.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import { pageLimitDefault } from "../../../store/rows/cursor.ts";
import { answerOnce } from "../../answer/answer-once.ts";
import type { Handlers } from "../../handler.ts";

type MembraneHandlers = Pick<
  Handlers,
  | "listMembranes"
  | "createMembrane"
  | "getMembrane"
  | "changeMembrane"
  | "getCoverage"
  | "findBlockedTools"
  | "getMembraneReadiness"
  | "labelHold"
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

    async findBlockedTools({ caller, body }) {
      return { status: 200, body: { blocked: await findBlockedTools(runtime, caller, body) } };
    },

    async getMembraneReadiness({ caller, params }) {
      return { status: 200, body: { readiness: await readReadiness(runtime, packs, caller, params.membrane_id) } };
    },

    async labelHold({ caller, params, body }) {
      return { status: 200, body: { label: await labelHold(runtime, caller, params.intent_id, body.is_right) } };
    },

    async goLive({ caller, params, body }) {
      const { evidence, missing_facts, not_ready } = await readReadiness(runtime, packs, caller, params.membrane_id);
      const live = await goLive(runtime, caller, params.membrane_id, body, not_ready);
      const next_steps = [...goLiveSteps({ ...evidence, missing_facts }), ...(await readKeySteps(runtime, caller))];
      return { status: live.moved ? 200 : 202, body: { ...live, not_ready, next_steps } };
    },

    async returnToShadow({ caller, params, body }) {
      const returned = await returnToShadow(runtime, caller, params.membrane_id, body);
      return { status: returned.moved ? 200 : 202, body: returned };
    },

    async getUsage({ caller }) {
      return { status: 200, body: { usage: await getUsage(runtime, caller) } };
    },
  };
}
