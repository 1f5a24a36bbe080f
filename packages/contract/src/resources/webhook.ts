import Type, { type Static } from "typebox";
import { type EventType, eventTypeNames } from "../event-types.ts";
import { limits } from "../limits.ts";
import { closed, givenId, id, listQuery, nullable, oneOf, text, timestamp } from "./shapes.ts";

// Accepts any text, because the operation reports unknown_event_type.
const eventTypesInput = () =>
  Type.Array(Type.Unsafe<EventType>(text(64)), {
    minItems: 1,
    maxItems: 100,
    description: `of ${eventTypeNames.join(", ")}`,
  });
// Accepts any text, because the guard reports webhook_url_refused.
const url = () => Type.String({ maxLength: limits.body_bytes_max, description: "absolute https URL" });

/** Source: spec §4. */
export const WebhookInput = closed(
  {
    url: url(),
    event_types: Type.Optional(eventTypesInput()),
    escalation_id: Type.Optional(nullable(givenId("prefix esc_; absent or null: organization-wide"))),
    description: Type.Optional(text(limits.description_chars_max)),
  },
  { title: "WebhookInput" },
);
export type WebhookInput = Static<typeof WebhookInput>;

export const WebhookChange = closed(
  {
    active: Type.Optional(Type.Boolean()),
    description: Type.Optional(text(limits.description_chars_max)),
    event_types: Type.Optional(eventTypesInput()),
    url: Type.Optional(url()),
  },
  { title: "WebhookChange" },
);
export type WebhookChange = Static<typeof WebhookChange>;

const eventType = () => oneOf(eventTypeNames);

/** Only the answer to creation shows `secret`; other answers have `***`. Source: spec §2.3. */
export const Webhook = Type.Object(
  {
    id: id("webhook"),
    created_at: timestamp(),
    url: text(limits.webhook_url_chars_max),
    organization_id: id("organization"),
    escalation_id: nullable(id("escalation")),
    event_types: Type.Array(eventType()),
    secret: text(128),
    active: Type.Boolean(),
    description: text(limits.description_chars_max),
    created_by: nullable(text(64, { description: "key_id or user_id; null: open mode, or an older webhook" })),
  },
  { title: "Webhook" },
);
export type Webhook = Static<typeof Webhook>;

const attempt = Type.Object({
  number: Type.Integer({ minimum: 1, maximum: limits.delivery_attempts_max }),
  at: timestamp(),
  response_status: nullable(Type.Integer()),
  error: nullable(text(500)),
  duration_ms: Type.Number({ minimum: 0 }),
});

const deliveryStatus = () => oneOf(["pending", "delivered", "failed", "cancelled"]);

/** One event for one webhook. Source: spec §2.4. */
export const Delivery = Type.Object(
  {
    delivery_id: id("delivery"),
    webhook_id: id("webhook"),
    event_type: eventType(),
    intent_id: nullable(id("intent")),
    escalation_id: nullable(id("escalation")),
    status: deliveryStatus(),
    response_status: nullable(Type.Integer({ description: "status of the last attempt; null: no answer" })),
    error: nullable(text(500)),
    attempts: Type.Array(attempt),
    created_at: timestamp(),
    failed_at: nullable(timestamp()),
    original_delivery_id: nullable(id("delivery")),
    latest_retry: nullable(
      Type.Object(
        { delivery_id: id("delivery"), status: deliveryStatus() },
        { description: "result of the last manual retry; null: none" },
      ),
    ),
  },
  { title: "Delivery" },
);
export type Delivery = Static<typeof Delivery>;

export const FailedDeliveriesQuery = listQuery({
  webhook_id: Type.Optional(givenId("prefix wh_")),
});
