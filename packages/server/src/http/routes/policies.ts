import { policySchema } from "@countersign/core";
import { activatePolicy, replacePolicy, retirePolicy } from "../../operations/policies/change-policy.ts";
import { createPolicy } from "../../operations/policies/create-policy.ts";
import { panelWarnings } from "../../operations/policies/panel-warnings.ts";
import { checkPolicyInput, redTests } from "../../operations/policies/policy-documents.ts";
import { readFiredRules } from "../../operations/policies/read-fired-rules.ts";
import type { Packs } from "../../operations/policies/read-packs.ts";
import { getPolicy, listPolicies, listPolicyVersions } from "../../operations/policies/read-policies.ts";
import { readPolicyReadiness } from "../../operations/policies/read-policy-readiness.ts";
import { sharedCostWarnings } from "../../operations/policies/shared-cost.ts";
import type { Runtime } from "../../operations/runtime.ts";
import { answerOnce } from "../answer/answer-once.ts";
import type { Handlers } from "../handler.ts";

type PolicyHandlers = Pick<
  Handlers,
  | "createPolicy"
  | "listPolicies"
  | "getPolicy"
  | "listPolicyVersions"
  | "replacePolicy"
  | "activatePolicy"
  | "retirePolicy"
  | "checkPolicy"
  | "getFiredRules"
  | "getPolicyReadiness"
  | "getPolicySchema"
>;

export function policyRoutes(runtime: Runtime, packs: Packs): PolicyHandlers {
  return {
    async createPolicy({ caller, body, idempotency_key }) {
      const { response, replayed } = await createPolicy(runtime, caller, body, idempotency_key);
      const saved = { policy: response, diagnostics: await redTests(response.document) };
      const Location = `/v1/policies/${response.policy_id}`;
      return answerOnce(replayed, { status: 201, body: saved, headers: { Location } });
    },
    async listPolicies({ caller, query }) {
      return { status: 200, body: await listPolicies(runtime, caller, query) };
    },
    async getPolicy({ caller, params }) {
      return { status: 200, body: { policy: await getPolicy(runtime, caller, params.policy_id) } };
    },
    async listPolicyVersions({ caller, params, query }) {
      return { status: 200, body: await listPolicyVersions(runtime, caller, params.policy_id, query) };
    },
    async replacePolicy({ caller, params, body }) {
      const policy = await replacePolicy(runtime, caller, params.policy_id, body);
      return { status: 200, body: { policy, diagnostics: await redTests(policy.document) } };
    },
    async activatePolicy({ caller, params, body }) {
      const { policy, not_ready } = await activatePolicy(runtime, caller, params.policy_id, body);
      const panels = await panelWarnings(runtime, packs, caller.org_id, policy.document);
      const costs = await sharedCostWarnings(runtime, packs, caller.org_id, policy);
      return { status: 200, body: { policy, warnings: [...panels, ...costs], not_ready } };
    },
    async getPolicyReadiness({ caller, params, query }) {
      const readiness = await readPolicyReadiness(runtime, caller, params.policy_id, query.version);
      return { status: 200, body: { readiness } };
    },
    async getFiredRules({ caller }) {
      return { status: 200, body: { fired: await readFiredRules(runtime, caller) } };
    },
    async retirePolicy({ caller, params }) {
      return { status: 200, body: { policy: await retirePolicy(runtime, caller, params.policy_id) } };
    },
    async getPolicySchema() {
      return { status: 200, body: policySchema };
    },
    async checkPolicy({ caller, body }) {
      return { status: 200, body: await checkPolicyInput(runtime, packs, caller.org_id, body) };
    },
  };
}
