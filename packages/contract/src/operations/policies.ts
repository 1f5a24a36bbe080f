import { limits } from "../limits.ts";
import {
  ActivateInput,
  anyObject,
  Backtest,
  BacktestInput,
  BacktestLine,
  Counter,
  CounterAdjustment,
  CounterAdjustmentInput,
  CounterQuery,
  closed,
  givenId,
  listed,
  listQuery,
  Pack,
  Policy,
  PolicyActivated,
  PolicyCheck,
  PolicyInput,
  PolicyListQuery,
  PolicySaved,
  PolicyVersion,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ policy_id: givenId("prefix pol_") });
const one = { 200: { description: "The policy.", schema: wrapped("policy", Policy) } } as const;
const body_bytes_max = limits.body_bytes_max;
const common = { tag: "Policies", rate: "general" } as const;

export const policyOperations = {
  createPolicy: {
    ...common,
    method: "POST",
    path: "/v1/policies",
    summary: "Save a new policy",
    auth: ["admin"],
    idempotent: true,
    body: PolicyInput,
    body_bytes_max,
    answers: {
      201: { description: "The policy, and its failing tests.", schema: PolicySaved, headers: ["Location"] },
    },
    refuses: ["policy_invalid", "already_exists"],
  },
  listPolicies: {
    ...common,
    method: "GET",
    path: "/v1/policies",
    summary: "List policies",
    auth: ["reviewer", "auditor"],
    query: PolicyListQuery,
    answers: { 200: { description: "Newest first.", schema: listed("policies", Policy) } },
  },
  getPolicy: {
    ...common,
    method: "GET",
    path: "/v1/policies/{policy_id}",
    summary: "Read a policy",
    auth: ["reviewer", "auditor"],
    params,
    answers: one,
  },
  listPolicyVersions: {
    ...common,
    method: "GET",
    path: "/v1/policies/{policy_id}/versions",
    summary: "List a policy's versions",
    auth: ["reviewer", "auditor"],
    params,
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("versions", PolicyVersion) } },
  },
  replacePolicy: {
    ...common,
    method: "PUT",
    path: "/v1/policies/{policy_id}",
    summary: "Save a new version of a policy",
    auth: ["admin"],
    params,
    body: PolicyInput,
    body_bytes_max,
    answers: { 200: { description: "The policy, and its failing tests.", schema: PolicySaved } },
    refuses: ["policy_invalid", "not_found", "already_exists", "state_conflict"],
  },
  activatePolicy: {
    ...common,
    method: "POST",
    path: "/v1/policies/{policy_id}/activate",
    summary: "Activate a policy's newest version",
    description:
      "A policy has one active version, live or in shadow. The new version replaces the older one, also if a live version becomes a shadow one. To try a change beside the live version, save it as a policy with another name.",
    auth: ["admin"],
    params,
    body: ActivateInput,
    body_bytes_max,
    answers: { 200: { description: "The policy, and warnings about it.", schema: PolicyActivated } },
    refuses: ["policy_invalid", "state_conflict"],
  },
  retirePolicy: {
    ...common,
    method: "POST",
    path: "/v1/policies/{policy_id}/retire",
    summary: "Retire a policy permanently",
    description:
      "A retired policy has no effect from the next decision on. It accepts no new version and no activation, and its name stays reserved.",
    auth: ["admin"],
    params,
    answers: one,
    refuses: ["state_conflict"],
  },
  checkPolicy: {
    ...common,
    method: "POST",
    path: "/v1/policies/check",
    summary: "Check a policy document without saving it",
    auth: ["reviewer", "auditor"],
    body: PolicyInput,
    body_bytes_max,
    answers: { 200: { description: "All diagnostics.", schema: PolicyCheck } },
  },
  getPolicySchema: {
    ...common,
    method: "GET",
    path: "/v1/policies/schema",
    summary: "Read the JSON Schema of the policy document",
    auth: "any",
    answers: {
      200: { description: "JSON Schema 2020-12, as in docs/reference/policy.schema.json.", schema: anyObject() },
    },
  },
  listPacks: {
    ...common,
    method: "GET",
    path: "/v1/packs",
    summary: "List the packs of ready-made policies",
    auth: "any",
    query: listQuery({}),
    answers: { 200: { description: "By name.", schema: listed("packs", Pack) } },
  },
  getPack: {
    ...common,
    method: "GET",
    path: "/v1/packs/{name}",
    summary: "Read a pack with its rules and citations",
    auth: "any",
    params: closed({ name: givenId("the pack's name") }),
    answers: { 200: { description: "The pack.", schema: wrapped("pack", Pack) } },
  },
  listCounters: {
    method: "GET",
    path: "/v1/counters",
    tag: "Policies",
    summary: "List the keys of counters with their present sums",
    description:
      "Only counters of policies in force in the membrane. A key appears with its first action, and goes some time after its last " +
      "action has left the window. See docs/how-to/limits.md.",
    auth: ["reviewer", "auditor"],
    rate: "general",
    query: CounterQuery,
    answers: { 200: { description: "By name and key.", schema: listed("counters", Counter) } },
    refuses: ["not_found"],
  },
  adjustCounter: {
    method: "POST",
    path: "/v1/counters/{name}/adjustments",
    tag: "Policies",
    summary: "Reset a key of a counter, or grant it more",
    description:
      "Takes effect with the next decision on every node. If a policy in force defines the counter with `adjust: two_person`, the first call is a " +
      "request. See docs/how-to/limits.md.",
    auth: ["operator"],
    rate: "general",
    idempotent: true,
    params: closed({ name: givenId("the name in policies: count.<name>") }),
    body: CounterAdjustmentInput,
    body_bytes_max: limits.small_body_bytes_max,
    answers: {
      200: { description: "The counter as it is now.", schema: CounterAdjustment },
      202: {
        description: "A second, different person must send the same request within 24 hours. Nothing has changed yet.",
        schema: CounterAdjustment,
      },
    },
    refuses: ["not_found", "state_conflict"],
  },
  backtest: {
    method: "POST",
    path: "/v1/learning/backtest",
    tag: "Policies",
    summary: "Decide recorded intents again with a candidate policy set",
    description:
      "The service decides each intent with its recorded facts, time and settings, and with the candidate's changes. " +
      "Without a candidate every recorded verdict must be reproduced. Nothing is stored. A key sees only what it may " +
      'read. With `Accept: application/x-ndjson` the answer has lines: `{"progress": …}` during the run, ' +
      'then `{"backtest": …}` or `{"error": …}`. Closing the connection cancels the backtest.',
    auth: "any",
    rate: "backtest",
    body: BacktestInput,
    body_bytes_max,
    answers: {
      200: { description: "The changes.", schema: wrapped("backtest", Backtest), line: BacktestLine },
    },
    refuses: ["forbidden", "policy_invalid", "not_found", "overloaded"],
  },
} as const satisfies Record<string, Operation>;
