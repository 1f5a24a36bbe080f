import Type, { type Static } from "typebox";
import { type EventType, eventTypeNames, test_event_type } from "../event-types.ts";
import { limits } from "../limits.ts";
import { closed, givenId, id, listQuery, nullable, oneOf, PipelineMode, text, timeInput, timestamp } from "./shapes.ts";

// Accepts any text, because the operation reports unknown_event_type.
const eventTypesInput = () =>
  Type.Array(Type.Unsafe<EventType>(text(64)), {
    minItems: 1,
    maxItems: 100,
    description: `of ${eventTypeNames.join(", ")}`,
  });
// Accepts any text, because the guard reports webhook_url_refused.
const url = () => Type.String({ maxLength: limits.body_bytes_max, description: "absolute https URL" });

const modes = () =>
  Type.Array(PipelineMode, {
    minItems: 1,
    maxItems: 3,
    description: "the webhook gets only events of actions in these modes; null: of every mode",
  });
const membraneIds = () =>
  Type.Array(givenId("prefix mem_"), {
    minItems: 1,
    maxItems: limits.webhook_membranes_max,
    description: "the webhook gets only events of actions in these membranes; null: of every membrane",
  });
const failures = (what: string) =>
  Type.Integer({
    minimum: 1,
    maximum: limits.webhook_failures_max,
    description: `${what} after this many failed deliveries without a success between them; null: never`,
  });

/** Settings that registration and change share. */
const settings = {
  modes: Type.Optional(nullable(modes())),
  membrane_ids: Type.Optional(nullable(membraneIds())),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: limits.webhook_header_value_chars_max }), {
      maxProperties: limits.webhook_headers_max,
      description:
        "headers of your own on every delivery, such as Authorization. Values are visible ASCII characters and spaces, and are stored " +
        "sealed. A change replaces all of them; the value `***` keeps the stored value of that name",
    }),
  ),
  alert_after_failures: Type.Optional(nullable(failures("all admins get one mail"))),
  pause_after_failures: Type.Optional(nullable(failures("the service pauses the webhook and mails all admins"))),
};

/** Source: spec §4. */
export const WebhookInput = closed(
  {
    url: url(),
    event_types: Type.Optional(eventTypesInput()),
    escalation_id: Type.Optional(nullable(givenId("prefix esc_; absent or null: organization-wide"))),
    description: Type.Optional(text(limits.description_chars_max)),
    ...settings,
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
    ...settings,
  },
  { title: "WebhookChange" },
);
export type WebhookChange = Static<typeof WebhookChange>;

export const SecretRotation = closed(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.webhook_overlap_seconds_max,
        description:
          "how long the old secret stays valid; default 0. Until then X-Service-Signature is of the old secret, and webhook-signature is " +
          "of both",
      }),
    ),
  },
  { title: "SecretRotation" },
);
export type SecretRotation = Static<typeof SecretRotation>;

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
    modes: nullable(modes()),
    membrane_ids: nullable(membraneIds()),
    headers: Type.Record(Type.String(), text(3), { description: "the names of its own headers; each value is `***`" }),
    alert_after_failures: nullable(failures("all admins get one mail")),
    pause_after_failures: nullable(failures("the service pauses the webhook and mails all admins")),
    paused_at: nullable(
      timestamp("since then nothing is sent, and each delivery is kept as failed. Null: it is not paused"),
    ),
    secret_overlap_ends_at: nullable(timestamp("until then two secrets are valid. Null: one is")),
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
    event_type: oneOf([...eventTypeNames, test_event_type]),
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

export const DeliveriesQuery = listQuery({
  delivery_id: Type.Optional(givenId("prefix dlv_; `from` and `to` do not count then")),
  webhook_id: Type.Optional(givenId("prefix wh_")),
  status: Type.Optional(deliveryStatus()),
  from: Type.Optional(timeInput("made at or after")),
  to: Type.Optional(timeInput("made before")),
});
export type DeliveriesQuery = Static<typeof DeliveriesQuery>;

export const ReplayInput = closed(
  {
    from: timeInput("sends events again that were first sent at or after this time"),
    to: timeInput("and before this time"),
    which: Type.Optional(
      oneOf(["failed", "all"], { description: "default failed. `all` also sends what the receiver had accepted" }),
    ),
  },
  { title: "ReplayInput" },
);
export type ReplayInput = Static<typeof ReplayInput>;

export const WebhookHealthQuery = closed({
  hours: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.webhook_health_hours_max,
      default: 24,
      description: "whole hours (UTC), of which the current one is the last",
    }),
  ),
});

/** Counted by the hour, so it costs the same however many events a webhook gets. */
export const WebhookHealth = Type.Object(
  {
    webhook_id: id("webhook"),
    since: timestamp("attempts from this time on count"),
    attempts: Type.Integer({ minimum: 0 }),
    accepted: Type.Integer({ minimum: 0, description: "attempts that the receiver answered with a 2xx status" }),
    success_rate: nullable(
      Type.Number({ minimum: 0, maximum: 1, description: "accepted / attempts; null: no attempt" }),
    ),
    p95_ms: nullable(
      Type.Integer({
        minimum: 0,
        description: "95 % of the attempts took at most this long; up to 25 % too high. Null: no attempt",
      }),
    ),
    last_success_at: nullable(timestamp("in the last 30 days; null: none")),
    last_failure_at: nullable(timestamp("in the last 30 days; null: none")),
    failures_in_row: Type.Integer({ minimum: 0, description: "failed deliveries since the last success" }),
  },
  { title: "WebhookHealth" },
);
export type WebhookHealth = Static<typeof WebhookHealth>;
