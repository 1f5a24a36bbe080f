import { limits } from "../limits.ts";
import {
  ApiKey,
  ApiKeyChange,
  ApiKeyCreated,
  ApiKeyInput,
  ApiKeyRotated,
  closed,
  givenId,
  listed,
  listQuery,
  ObservedBindings,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ key_id: givenId("prefix key_") });

/** Keys: create, list, bind, revoke, rotate. Source: contract §3 and §4, api.md §3. */
export const apiKeyOperations = {
  createApiKey: {
    method: "POST",
    path: "/v1/api-keys",
    tag: "API keys",
    summary: "Create an API key",
    description:
      "The only answer that shows the key in full. Lifetime without expires_at and expires_in_days: 365 days.",
    auth: ["admin"],
    rate: "general",
    idempotent: true,
    body: ApiKeyInput,
    body_bytes_max: limits.body_bytes_max,
    answers: { 201: { description: "The key, in full.", schema: ApiKeyCreated } },
    refuses: ["invalid_binding"],
  },
  listApiKeys: {
    method: "GET",
    path: "/v1/api-keys",
    tag: "API keys",
    summary: "List API keys, without secrets",
    auth: ["admin"],
    rate: "general",
    query: listQuery({}),
    answers: { 200: { description: "The organization's keys.", schema: listed("api_keys", ApiKey) } },
  },
  changeApiKey: {
    method: "PATCH",
    path: "/v1/api-keys/{key_id}",
    tag: "API keys",
    summary: "Bind an API key, or unbind it",
    description:
      "Takes effect with the next request, on every node. A key that is bound to membranes, agents or networks is refused with 403 " +
      "elsewhere; `forbid_shadow` refuses `?mode=shadow`. A rotation keeps the bindings.",
    auth: ["admin"],
    rate: "general",
    params,
    body: ApiKeyChange,
    body_bytes_max: limits.body_bytes_max,
    answers: { 200: { description: "The key.", schema: wrapped("api_key", ApiKey) } },
    refuses: ["invalid_binding", "state_conflict"],
  },
  getObservedBindings: {
    method: "GET",
    path: "/v1/api-keys/{key_id}/observed-bindings",
    tag: "API keys",
    summary: "Read which bindings fit what a key submitted lately",
    auth: ["admin"],
    rate: "general",
    params,
    answers: { 200: { description: "What was seen.", schema: wrapped("observed", ObservedBindings) } },
  },
  revokeApiKey: {
    method: "DELETE",
    path: "/v1/api-keys/{key_id}",
    tag: "API keys",
    summary: "Revoke an API key",
    description:
      "Once this has answered, no request that begins later succeeds with the key, on any node. Open invitations that " +
      "the key, or a key that it replaced, sent are withdrawn.",
    auth: ["admin"],
    rate: "general",
    params,
    answers: { 204: { description: "The key is revoked.", schema: null } },
  },
  rotateApiKey: {
    method: "POST",
    path: "/v1/api-keys/{key_id}/rotate",
    tag: "API keys",
    summary: "Replace the calling key by a new one, in one step",
    description:
      "Only the key itself may rotate itself. Role, scope, environment, name, lifetime and bindings are kept; the old key is revoked " +
      "at once, and the new one inherits its rate window. Open invitations stay.",
    auth: "any",
    rate: "general",
    params,
    answers: { 200: { description: "The new key, in full.", schema: ApiKeyRotated } },
    refuses: ["forbidden"],
  },
} as const satisfies Record<string, Operation>;
