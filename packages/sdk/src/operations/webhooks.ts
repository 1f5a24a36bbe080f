import type {
  DeliveriesQuery,
  Delivery,
  ReplayInput,
  SecretRotation,
  Webhook,
  WebhookChange,
  WebhookHealth,
  WebhookInput,
} from "@countersign/contract";
import { newIdempotencyKey } from "../idempotency-key.ts";
import type { Page, PageQuery } from "../page.ts";
import type { Transport } from "../transport.ts";

const base = "/v1/escalations/webhooks";
const path = (webhook_id: string) => `${base}/${encodeURIComponent(webhook_id)}`;

export function webhookCalls(call: Transport) {
  return {
    ...deliveryCalls(call),

    /**
     * Registers a webhook. Only this answer contains its secret. `***`: the first answer was lost, so call
     * `rotateWebhookSecret`.
     */
    registerWebhook: async (input: WebhookInput) =>
      (await call<{ webhook: Webhook }>("POST", base, { body: input, idempotency_key: newIdempotencyKey() })).webhook,

    /** Lists webhooks with masked secrets, newest first. */
    listWebhooks: (query: PageQuery = {}) => call<Page<"webhooks", Webhook>>("GET", base, { query: { ...query } }),

    getWebhook: async (webhook_id: string) => (await call<{ webhook: Webhook }>("GET", path(webhook_id))).webhook,

    /** Changes a webhook, or switches it off and on. */
    changeWebhook: async (webhook_id: string, change: WebhookChange) =>
      (await call<{ webhook: Webhook }>("PATCH", path(webhook_id), { body: change })).webhook,

    /**
     * Replaces the signing secret, at once or after an overlap in which both are valid. Only this answer contains the
     * full secret.
     */
    rotateWebhookSecret: async (webhook_id: string, rotation: SecretRotation = {}) =>
      (await call<{ webhook: Webhook }>("POST", `${path(webhook_id)}/rotate-secret`, { body: rotation })).webhook,

    /** Ends a pause. Kept deliveries stay failed until somebody sends them again. */
    resumeWebhook: async (webhook_id: string) =>
      (await call<{ webhook: Webhook }>("POST", `${path(webhook_id)}/resume`)).webhook,

    /** Sends a test event. Read the delivery until it is not pending. */
    testWebhook: async (webhook_id: string) =>
      (await call<{ delivery: Delivery }>("POST", `${path(webhook_id)}/test`)).delivery,

    /** Reads how well each webhook worked in the last hours. */
    listWebhookHealth: async (query: { readonly hours?: number } = {}) =>
      (await call<{ health: WebhookHealth[] }>("GET", `${base}/health`, { query: { ...query } })).health,

    /** Deletes a webhook and cancels its pending deliveries. */
    deleteWebhook: (webhook_id: string) => call<null>("DELETE", path(webhook_id)),
  };
}

function deliveryCalls(call: Transport) {
  return {
    /** Lists deliveries, newest first. */
    listDeliveries: (query: DeliveriesQuery = {}) =>
      call<Page<"deliveries", Delivery>>("GET", `${base}/deliveries`, { query: { ...query } }),

    /** Sends a page of a time range's events again. Continue until `next_cursor` is null. */
    replayDeliveries: (webhook_id: string, range: ReplayInput, query: PageQuery = {}) =>
      call<Page<"deliveries", Delivery>>("POST", `${path(webhook_id)}/replay`, { body: range, query: { ...query } }),

    /** Lists deliveries that failed after three attempts, newest first. */
    listFailedDeliveries: (query: PageQuery & { readonly webhook_id?: string } = {}) =>
      call<Page<"deliveries", Delivery>>("GET", `${base}/deliveries/failed`, { query: { ...query } }),

    /** Sends a failed delivery again, as a new delivery. */
    retryDelivery: async (delivery_id: string) => {
      const retry = `${base}/deliveries/${encodeURIComponent(delivery_id)}/retry`;
      return (await call<{ delivery: Delivery }>("POST", retry, { idempotency_key: newIdempotencyKey() })).delivery;
    },

    /**
     * Sends a page of failed deliveries again, except those that were already sent again or have no active webhook.
     * Returns the new deliveries, possibly none. Continue until `next_cursor` is null.
     */
    retryFailedDeliveries: (query: PageQuery & { readonly webhook_id?: string } = {}) =>
      call<Page<"deliveries", Delivery>>("POST", `${base}/deliveries/failed/retry`, {
        query: { ...query },
        repeatable: true,
      }),
  };
}
