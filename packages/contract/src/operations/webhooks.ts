import Type from "typebox";
import { limits } from "../limits.ts";
import {
  closed,
  DeliveriesQuery,
  Delivery,
  FailedDeliveriesQuery,
  givenId,
  listed,
  listQuery,
  ReplayInput,
  SecretRotation,
  Webhook,
  WebhookChange,
  WebhookHealth,
  WebhookHealthQuery,
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
      "Only this answer shows the new secret. Without `overlap_seconds` it signs every later attempt, also of older deliveries. With it, " +
      "X-Service-Signature is of the old secret until the overlap ends, and of the new one afterwards. Until then webhook-signature has " +
      "the signatures of both. During an overlap only a rotation without `overlap_seconds` is possible. It ends the overlap and makes " +
      "both secrets void.",
    auth: ["admin"],
    params,
    body: SecretRotation,
    body_optional: true,
    body_bytes_max,
    answers: { 200: { description: "The webhook with its new secret.", schema: wrapped("webhook", Webhook) } },
    refuses: ["state_conflict"],
  },
  resumeWebhook: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks/{webhook_id}/resume",
    summary: "Resume a paused webhook",
    description:
      "Deliveries that were kept while it was paused stay failed until somebody sends them again. A webhook that is not paused stays " +
      "as it is.",
    auth: ["operator"],
    params,
    answers: { 200: { description: "The webhook.", schema: wrapped("webhook", Webhook) } },
  },
  testWebhook: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks/{webhook_id}/test",
    summary: "Send a test event to a webhook",
    description:
      "Sends an event of the type `webhook.test`, signed like every other, also to a webhook that did not subscribe to it. Then list " +
      "the delivery by its id until it is not pending.",
    auth: ["operator"],
    params,
    answers: { 202: { description: "The delivery.", schema: wrapped("delivery", Delivery) } },
    refuses: ["state_conflict"],
  },
  listWebhookHealth: {
    ...common,
    method: "GET",
    path: "/v1/escalations/webhooks/health",
    summary: "Read how well each webhook works",
    auth: "any",
    query: WebhookHealthQuery,
    answers: {
      200: {
        description: "Each webhook of the organization, newest first.",
        schema: wrapped("health", Type.Array(WebhookHealth)),
      },
    },
  },
  listDeliveries: {
    ...common,
    method: "GET",
    path: "/v1/escalations/webhooks/deliveries",
    summary: "List deliveries",
    description:
      "Delivered and cancelled deliveries are deleted after the time that the operator set, by default 30 days.",
    auth: ["operator"],
    query: DeliveriesQuery,
    answers: { 200: { description: "Newest first.", schema: listed("deliveries", Delivery) } },
  },
  replayDeliveries: {
    ...common,
    method: "POST",
    path: "/v1/escalations/webhooks/{webhook_id}/replay",
    summary: "Send the events of a time range again, one page at a time",
    description: `Each event is a new delivery, like a manual retry. \`failed\` sends events that failed and that no retry delivered.
\`all\` also sends events that were delivered. Events with a pending retry and test events are skipped. If you follow \`next_cursor\`
until it is null, each event of the range is sent once.`,
    auth: ["operator"],
    params,
    query: listQuery({}),
    body: ReplayInput,
    body_bytes_max,
    answers: {
      202: {
        description: "The new deliveries, possibly none, and the next cursor.",
        schema: listed("deliveries", Delivery),
      },
    },
    refuses: ["state_conflict"],
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
