/** What proves to a receiver that a delivery is ours. Source: contract §6, api.md §8. */
import { createHmac } from "node:crypto";
import { webhook_secret_prefix } from "@countersign/contract";
import { us_per_second } from "../time.ts";

/** `sha256=` and the lower-case hex HMAC-SHA256 of the raw body under the whole `whsec_` text. Source: contract §6. */
export function contractSignature(secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/**
 * The signature of the Standard Webhooks specification: `v1,` and base64 HMAC-SHA256 over `id.timestamp.body` under the
 * bytes that the part after `whsec_` is base64 of. `timestamp_seconds`: Unix time of the attempt.
 */
function standardSignature(secret: string, id: string, timestamp_seconds: number, body: string): string {
  const key = Buffer.from(secret.slice(webhook_secret_prefix.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp_seconds}.${body}`).digest("base64")}`;
}

/** One delivery as its headers describe it. */
export interface SignedDelivery {
  readonly delivery_id: string;
  readonly event_type: string;
  /** Exactly what is sent. */
  readonly body: string;
  /** True: somebody asked for this delivery by hand. */
  readonly manual_retry: boolean;
}

/** Every header of a delivery but those of HTTP itself. `now_us`: the attempt. */
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
 * The headers of one question to a context source: those of a delivery, without an event. `request_id` is a new one for
 * each question; `now_us`: when it is asked.
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
