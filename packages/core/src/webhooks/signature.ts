import { createHmac } from "node:crypto";
import { webhook_secret_prefix } from "@countersign/contract";
import { us_per_second } from "../time.ts";

/** Returns `sha256=` and the lower-case hex HMAC-SHA256 of the raw body. The key is the whole `whsec_` text. */
export function contractSignature(secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/**
 * Standard Webhooks signature: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. The key is the base64-decoded
 * part after `whsec_`.
 */
function standardSignature(secret: string, id: string, timestamp_seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(webhook_secret_prefix.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp_seconds}.${body}`).digest("base64")}`;
}

export interface SignedDelivery {
  readonly delivery_id: string;
  readonly event_type: string;
  /** The exact bytes sent. */
  readonly body: string;
  /** Requested by a person. */
  readonly manual_retry: boolean;
}

/** Excludes HTTP's own headers. `next_secret`: also valid, during the overlap of a rotation. */
export function deliveryHeaders(
  delivery: SignedDelivery,
  secret: string,
  now_us: number,
  next_secret: string | null = null,
): Record<string, string> {
  const { delivery_id, event_type, body } = delivery;
  const timestamp_seconds = Math.floor(now_us / us_per_second);
  const valid = next_secret === null ? [secret] : [secret, next_secret];
  return {
    "Content-Type": "application/json",
    "X-Service-Signature": contractSignature(secret, body),
    "X-Service-Event": event_type,
    "X-Service-Delivery": delivery_id,
    ...(delivery.manual_retry ? { "X-Service-Retry": "true" } : {}),
    "webhook-id": delivery_id,
    "webhook-timestamp": String(timestamp_seconds),
    "webhook-signature": valid.map((each) => standardSignature(each, delivery_id, timestamp_seconds, body)).join(" "),
  };
}

/** As for a delivery, without an event. `request_id` is new per request. `now_us`: time of the request. */
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
