import Type from "typebox";
import { limits } from "../limits.ts";
import {
  ContextBody,
  ContextSource,
  ContextSourceInput,
  ContextValidation,
  chosenName,
  closed,
  givenId,
  StoredContext,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const folded = "most HTTP clients change `.` and `..`, escaped or not, into another path";
const agentParams = closed({ agent_id: givenId(`the agent.id of intents; ${folded}`) });
/** Facts are stored only for ids that intents can have. */
const namedAgentParams = closed({
  agent_id: chosenName(limits.agent_id_chars_max, `${folded}; the agent.id of intents`),
});
const targetParams = closed({
  type: givenId(`the intent's action.target.type; ${folded}`),
  identifier: Type.String({
    minLength: 1,
    maxLength: limits.target_identifier_chars_max,
    description: `the intent's action.target.identifier; ${folded}`,
  }),
});

const common = { tag: "Context", rate: "general" } as const;

const stored = { 200: { description: "The stored document.", schema: wrapped("context", StoredContext) } } as const;
const removed = { 204: { description: "The facts are deleted.", schema: null } } as const;
const put = {
  ...common,
  method: "PUT",
  auth: ["operator"],
  body: ContextBody,
  body_bytes_max: limits.body_bytes_max,
  answers: stored,
  refuses: ["invalid_context"],
} as const;
const get = {
  ...common,
  method: "GET",
  auth: ["operator", "auditor"],
  answers: stored,
  refuses: ["not_found"],
} as const;
const remove = { ...common, method: "DELETE", auth: ["operator"], answers: removed, refuses: ["not_found"] } as const;

export const contextOperations = {
  validateContext: {
    ...common,
    method: "POST",
    path: "/v1/context/validate",
    summary: "Check a context document without storing it",
    description: "Always answers 200. Other operations answer these findings with 400 invalid_context.",
    auth: "any",
    body: ContextBody,
    body_bytes_max: limits.body_bytes_max,
    examines: "body",
    answers: { 200: { description: "The findings.", schema: ContextValidation } },
  },
  putOrgContext: { ...put, path: "/v1/context/org", summary: "Store facts for the organization" },
  getOrgContext: { ...get, path: "/v1/context/org", summary: "Read the organization's facts" },
  deleteOrgContext: { ...remove, path: "/v1/context/org", summary: "Delete the organization's facts" },
  putAgentContext: {
    ...put,
    path: "/v1/context/agents/{agent_id}",
    summary: "Store facts for one agent",
    params: namedAgentParams,
  },
  getAgentContext: {
    ...get,
    path: "/v1/context/agents/{agent_id}",
    summary: "Read an agent's facts",
    params: agentParams,
  },
  deleteAgentContext: {
    ...remove,
    path: "/v1/context/agents/{agent_id}",
    summary: "Delete an agent's facts",
    params: agentParams,
  },
  putTargetContext: {
    ...put,
    path: "/v1/context/targets/{type}/{identifier}",
    summary: "Store facts for one target",
    params: targetParams,
  },
  getTargetContext: {
    ...get,
    path: "/v1/context/targets/{type}/{identifier}",
    summary: "Read a target's facts",
    params: targetParams,
  },
  deleteTargetContext: {
    ...remove,
    path: "/v1/context/targets/{type}/{identifier}",
    summary: "Delete a target's facts",
    params: targetParams,
  },
  putContextSource: {
    ...common,
    method: "PUT",
    path: "/v1/context/source",
    summary: "Register your own endpoint for facts",
    description:
      'Before each decision the service POSTs `{"contract_version": "1", "intent"}` there, signed like a webhook, and ' +
      "expects a context document (200) or nothing (204) within `timeout_ms`. Its facts are the most trusted ones. " +
      "Without its facts the service decides anyway, and `unknown_facts` says why. Replaces the earlier " +
      "endpoint. Every registration has a new secret.",
    auth: ["admin"],
    body: ContextSourceInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The source, its secret in full.", schema: wrapped("source", ContextSource) } },
    refuses: ["webhook_url_refused"],
  },
  getContextSource: {
    ...common,
    method: "GET",
    path: "/v1/context/source",
    summary: "Read the registered source",
    auth: ["admin", "auditor"],
    answers: { 200: { description: "The source, its secret masked.", schema: wrapped("source", ContextSource) } },
    refuses: ["not_found"],
  },
  deleteContextSource: {
    ...common,
    method: "DELETE",
    path: "/v1/context/source",
    summary: "Remove the registered source",
    auth: ["admin"],
    answers: { 204: { description: "The source is removed.", schema: null } },
    refuses: ["not_found"],
  },
} as const satisfies Record<string, Operation>;
