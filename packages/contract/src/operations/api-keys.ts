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

/** Source: spec §3 and §4. */
export const apiKeyOperations = {
  createApiKey: {
    method: "POST",
    path: "/v1/api-keys",
    tag: "API keys",
    summary: "Create an API key",
    description:
      "Only this answer shows the key in full. Without expires_at and expires_in_days, the key is valid for 365 days.",
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
      "Takes effect with the next request, on every node. Outside of its membranes, agents or networks a bound key gets 403. " +
      "`forbid_shadow` refuses `?mode=shadow`. A rotation keeps the bindings.",
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
    summary: "Read the bindings that fit recent submissions of a key",
    auth: ["admin"],
    rate: "general",
    params,
    answers: { 200: { description: "The observed bindings.", schema: wrapped("observed", ObservedBindings) } },
  },
  revokeApiKey: {
    method: "DELETE",
    path: "/v1/api-keys/{key_id}",
    tag: "API keys",
    summary: "Revoke an API key",
    description:
      "No request that begins after this answer succeeds with the key, on any node. Open invitations that " +
      "the key or its predecessors sent are withdrawn.",
    auth: ["admin"],
    rate: "general",
    params,
    answers: { 204: { description: "The key is revoked.", schema: null } },
  },
  rotateApiKey: {
    method: "POST",
    path: "/v1/api-keys/{key_id}/rotate",
    tag: "API keys",
    summary: "Replace a key by a new one, in one step",
    description:
      "A key rotates itself, and an admin rotates any key. Role, scope, environment, name, lifetime and bindings stay. The old key is " +
      "revoked at once. If the key rotated itself, the new one inherits its rate window and sees its actions, and open invitations stay. " +
      "If an admin did it, the new key counts as made by the admin: it does not see the actions of the old one.",
    auth: "any",
    rate: "general",
    params,
    answers: { 200: { description: "The new key, in full.", schema: ApiKeyRotated } },
    refuses: ["forbidden", "state_conflict"],
  },
} as const satisfies Record<string, Operation>;
