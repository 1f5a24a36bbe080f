import { AccessEvaluation } from "@countersign/contract";
import { Fault, withDefaults } from "@countersign/core";
import { evaluateAccess } from "../../../operations/authzen/evaluate-access.ts";
import { evaluateList } from "../../../operations/authzen/evaluate-list.ts";
import type { Runtime } from "../../../operations/runtime.ts";
import type { Handlers } from "../../handler.ts";
import { compileCheck } from "../../request/validate.ts";

type AuthzenHandlers = Pick<Handlers, "evaluateAccess" | "evaluateAccessBatch" | "getAuthzenConfiguration">;

export function authzenRoutes(runtime: Runtime): AuthzenHandlers {
  const problemsOf = compileCheck(AccessEvaluation);
  const check = (given: unknown): AccessEvaluation => {
    const details = problemsOf(given, Number.MAX_SAFE_INTEGER);
    if (details !== null) throw new Fault("invalid_request", { details });
    return given as AccessEvaluation;
  };
  return {
    async evaluateAccess({ caller, body, query: { membrane_id }, client_ip }) {
      const request = { evaluation: body, membrane_id, client_ip, batch_size: 1 };
      return { status: 200, body: await evaluateAccess(runtime, caller, request) };
    },

    async evaluateAccessBatch({ caller, body, query: { membrane_id }, client_ip }) {
      const { evaluations = [], options } = body;
      const more = { membrane_id, client_ip };
      if (evaluations.length === 0) {
        const request = { evaluation: check(body), ...more, batch_size: 1 };
        return { status: 200, body: await evaluateAccess(runtime, caller, request) };
      }
      const whole = evaluations.map((each) => withDefaults(body, each));
      const semantic = options?.evaluations_semantic ?? "execute_all";
      const request = { evaluations: whole, semantic, check, ...more };
      return { status: 200, body: { evaluations: await evaluateList(runtime, caller, request) } };
    },

    async getAuthzenConfiguration() {
      const base = runtime.settings.public_url();
      const configuration = {
        policy_decision_point: base,
        access_evaluation_endpoint: `${base}/access/v1/evaluation`,
        access_evaluations_endpoint: `${base}/access/v1/evaluations`,
      };
      return { status: 200, body: configuration, headers: { "Cache-Control": "public, max-age=300" } };
    },
  };
}
