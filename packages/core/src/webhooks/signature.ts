/** Signs deliveries, so that a receiver can verify that the service sent them. */
import { createHmac } from "node:crypto";
import { webhook_secret_prefix } from "@countersign/contract";
import { us_per_second } from "../time.ts";

/** Returns `sha256=` and the lower-case hex HMAC-SHA256 of the raw body. The key is the whole `whsec_` text. */
export function contractSignature(secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/**
 * Returns the signature of the Standard Webhooks specification: `v1,` and the base64 HMAC-SHA256 of
 * `id.timestamp.body`. The key is the base64-decoded part after `whsec_`. `timestamp_seconds`: Unix time of the
 * attempt.
 */
function standardSignature(secret: string, id: string, timestamp_seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(webhook_secret_prefix.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp_seconds}.${body}`).digest("base64")}`;
}

/** The parts of a delivery that its headers contain. */
export interface SignedDelivery {
  readonly delivery_id: string;
  readonly event_type: string;
  /** The body as it is sent, byte for byte. */
  readonly body: string;
  /** True: a person requested this delivery by hand. */
  readonly manual_retry: boolean;
}

/** Returns every header of a delivery except those of HTTP itself. `now_us`: time of the attempt. */
export function deliveryHeaders(delivery: SignedDelivery, secret: string, now_us: number): Record<string, string> {
  const { delivery_id, event_type, body } = delivery;
  const timestamp_seconds = Math.floor(now_us / us_per_second);
  return {
    "Content-Type": "application/json",
    "X-Service-Signature": contractSignature(secret, body),
    "X-Service-Event": event_type,
    "X-Service-Delivery": delivery_id,
    ...(delivery.manual_retry ? { "X-Service-Retry": "true" } : {}),
    "webhook-id": delivery_id,
    "webhook-timestamp": String(timestamp_seconds),
    "webhook-signature": standardSignature(secret, delivery_id, timestamp_seconds, body),
  };
}

/**
 * Returns the headers of one request to a context source: those of a delivery, without an event. `request_id` is new
 * for each request. `now_us`: time of the request.
 */
export function contextRequestHeaders(
  request_id: string,
  body: string,
  secret: string,
  now_us: number,
): Record<string, string> {
  const { "X-Service-Event": _, ...headers } = deliveryHeaders(
    { delivery_id: request_id, event_type: "", body, manual_retry: false },
    secret,
    now_us,
  );
  return { ...headers, Accept: "application/json" };
}
