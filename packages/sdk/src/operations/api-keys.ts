import type {
  ApiKey,
  ApiKeyCreated,
  ApiKeyInput,
  ApiKeyRotated,
  KeyBindingsInput,
  ObservedBindings,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

export function apiKeyCalls(call: Transport) {
  const path = (key_id: string) => `/v1/api-keys/${encodeURIComponent(key_id)}`;
  return {
    /**
     * Creates a key. Only this answer contains its text. `***`: the first answer was lost, so revoke the key and create
     * another.
     */
    createApiKey: (input: ApiKeyInput) =>
      call<ApiKeyCreated>("POST", "/v1/api-keys", { body: input, idempotency_key: newIdempotencyKey() }),

    /** Lists keys without their texts, newest first. */
    listApiKeys: (query: PageQuery = {}) =>
      call<Page<"api_keys", ApiKey>>("GET", "/v1/api-keys", { query: { ...query } }),

    /** Replaces all bindings of a key from the next request on; null removes them. */
    bindApiKey: async (key_id: string, bindings: KeyBindingsInput | null) =>
      (await call<{ api_key: ApiKey }>("PATCH", path(key_id), { body: { bindings } })).api_key,

    /** Returns bindings that would allow the key's submissions of the last 30 days. */
    getObservedBindings: async (key_id: string) =>
      (await call<{ observed: ObservedBindings }>("GET", `${path(key_id)}/observed-bindings`)).observed,

    /** Revokes a key. No request that begins after this call resolves can use it. */
    revokeApiKey: (key_id: string) => call<null>("DELETE", path(key_id)),

    /**
     * Replaces the client's own key, or for an admin any key. The old key is invalid when this call resolves, so create
     * a new client if it was your own.
     */
    rotateApiKey: (key_id: string) => call<ApiKeyRotated>("POST", `${path(key_id)}/rotate`),
  };
}
