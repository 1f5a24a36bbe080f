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

/** Webhooks and their failed deliveries. Source: contract §4, api.md §8. */
export const webhookOperations = {
  registerWebhook: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks",
    summary: "Register a webhook",
    description: "The only answer that shows the signing secret in full, but for that of a rotation.",
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
      "The only answer that shows it. Every attempt from then on is signed with it, those of older deliveries too; there is no " +
      "overlap. What the receiver refuses until it knows the secret is tried again after 5 and after a further 25 seconds, " +
      "then it waits among the failed deliveries. For a change without a gap register a second webhook and delete the first.",
    auth: ["admin"],
    params,
    answers: { 200: { description: "The webhook with its new secret.", schema: wrapped("webhook", Webhook) } },
  },
  deleteWebhook: {
    ...common,
    method: "DELETE",
    path: "/v1/escalations/webhooks/{webhook_id}",
    summary: "Delete a webhook; deliveries under way end cancelled",
    auth: ["admin"],
    params,
    answers: { 204: { description: "It is deleted.", schema: null } },
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
    description: `Takes the page that the list of failed deliveries has for the same \`limit\`, \`cursor\` and \`webhook_id\`. Passed over is
what was sent again already, unless that ended cancelled, and what goes to a webhook that is deleted or inactive. With
\`next_cursor\` until it is null, everything that had failed when the first page was asked for is sent again, each event once
for each webhook. A retry that fails meanwhile is on none of these pages; another delivery that does may be.`,
    auth: ["operator"],
    query: FailedDeliveriesQuery,
    answers: {
      202: {
        description: "The new deliveries, possibly none, and where to go on.",
        schema: listed("deliveries", Delivery),
      },
    },
  },
} as const satisfies Record<string, Operation>;
