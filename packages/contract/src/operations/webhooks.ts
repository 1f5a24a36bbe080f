import { limits } from "../limits.ts";
import {
  closed,
  Delivery,
  FailedDeliveriesQuery,
  givenId,
  listed,
  listQuery,
  Webhook,
  WebhookChange,
  WebhookInput,
  wrapped,
} from "../resources/index.ts";
import type { Operation } from "./operation.ts";

const params = closed({ webhook_id: givenId("prefix wh_") });
const body_bytes_max = limits.body_bytes_max;
const common = { tag: "Webhooks", rate: "general" } as const;

/** Source: spec §4. */
export const webhookOperations = {
  registerWebhook: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks",
    summary: "Register a webhook",
    description: "Only this answer, and that of a rotation, shows the signing secret in full.",
    auth: ["admin"],
    idempotent: true,
    body: WebhookInput,
    body_bytes_max,
    answers: { 201: { description: "The webhook with its secret.", schema: wrapped("webhook", Webhook) } },
    refuses: ["unknown_event_type", "webhook_url_refused", "not_found", "already_exists"],
  },
  listWebhooks: {
    ...common,
    method: "GET",
    path: "/v1/escalations/webhooks",
    summary: "List webhooks, secrets masked",
    auth: "any",
    query: listQuery({}),
    answers: { 200: { description: "Newest first.", schema: listed("webhooks", Webhook) } },
  },
  getWebhook: {
    ...common,
    method: "GET",
    path: "/v1/escalations/webhooks/{webhook_id}",
    summary: "Read a webhook, secret masked",
    auth: "any",
    params,
    answers: { 200: { description: "The webhook.", schema: wrapped("webhook", Webhook) } },
  },
  changeWebhook: {
    ...common,
    method: "PATCH",
    path: "/v1/escalations/webhooks/{webhook_id}",
    summary: "Change a webhook, or switch it off",
    auth: ["admin"],
    params,
    body: WebhookChange,
    body_bytes_max,
    answers: { 200: { description: "The webhook.", schema: wrapped("webhook", Webhook) } },
    refuses: ["unknown_event_type", "webhook_url_refused"],
  },
  rotateWebhookSecret: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks/{webhook_id}/rotate-secret",
    summary: "Give a webhook a new signing secret",
    description:
      "Only this answer shows the secret. It signs every later attempt, also of older deliveries. There is no " +
      "overlap. If the receiver refuses an attempt because it does not know the secret yet, the service retries after 5 and after 25 more seconds. " +
      "Then the delivery is failed. For a change without a gap, register a second webhook and delete the first.",
    auth: ["admin"],
    params,
    answers: { 200: { description: "The webhook with its new secret.", schema: wrapped("webhook", Webhook) } },
  },
  deleteWebhook: {
    ...common,
    method: "DELETE",
    path: "/v1/escalations/webhooks/{webhook_id}",
    summary: "Delete a webhook and cancel its deliveries",
    auth: ["admin"],
    params,
    answers: { 204: { description: "The webhook is deleted.", schema: null } },
  },
  listFailedDeliveries: {
    ...common,
    method: "GET",
    path: "/v1/escalations/webhooks/deliveries/failed",
    summary: "List deliveries that failed after three attempts",
    auth: ["operator"],
    query: FailedDeliveriesQuery,
    answers: { 200: { description: "Newest first.", schema: listed("deliveries", Delivery) } },
  },
  retryDelivery: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks/deliveries/{delivery_id}/retry",
    summary: "Send a failed delivery again, as a new delivery",
    auth: ["operator"],
    idempotent: true,
    params: closed({ delivery_id: givenId("prefix dlv_") }),
    answers: { 202: { description: "The new delivery.", schema: wrapped("delivery", Delivery) } },
    refuses: ["state_conflict"],
  },
  retryFailedDeliveries: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks/deliveries/failed/retry",
    summary: "Send a page of failed deliveries again, as new deliveries",
    description: `Uses the page that the list of failed deliveries has for the same \`limit\`, \`cursor\` and \`webhook_id\`. Skips
deliveries that were already sent again, unless that retry was cancelled, and deliveries to a deleted or inactive webhook. If you
follow \`next_cursor\` until it is null, everything that had failed at the first page is sent again, each event once
for each webhook. A retry that fails meanwhile is on none of these pages. Other deliveries that fail meanwhile may be.`,
    auth: ["operator"],
    query: FailedDeliveriesQuery,
    answers: {
      202: {
        description: "The new deliveries, possibly none, and the next cursor.",
        schema: listed("deliveries", Delivery),
      },
    },
  },
} as const satisfies Record<string, Operation>;
