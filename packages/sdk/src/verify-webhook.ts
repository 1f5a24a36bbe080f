/** Verifies at the receiver that a delivery is genuine, and detects repetitions. */
import type { EventBody } from "@countersign/contract";

/** The reason to reject a request. Answer it with 400 and do nothing. */
export class WebhookRejected extends Error {
  readonly reason: "missing_headers" | "bad_signature" | "bad_body";

  constructor(reason: WebhookRejected["reason"], message: string) {
    super(message);
    this.name = "WebhookRejected";
    this.reason = reason;
  }
}

export interface VerifiedWebhook {
  readonly event: EventBody;
  /** The same on the service's automatic retries. */
  readonly delivery_id: string;
  /** A person requested this delivery. `event.data.original_delivery_id` names the failed one. */
  readonly manual_retry: boolean;
  /** Your replay guard knows this delivery: answer 2xx and do nothing. */
  readonly repeated: boolean;
}

export interface VerifyOptions {
  /**
   * Stores the delivery id and returns whether it was already known, in one step. Prevents replays, because the
   * signature has no timestamp. The signature covers the body, not the id: if attackers can rewrite captured headers,
   * also store the event's type, intent and timestamp. Without this option `repeated` is always false.
   */
  readonly seen?: (delivery_id: string) => boolean | Promise<boolean>;
}

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a delivery. `rawBody` is the body before any parsing, because a rewritten body has another signature.
 * `secret` is the whole `whsec_…` text, or several during a rotation; undefined ones are ignored. The comparison takes
 * constant time. Throws `WebhookRejected`. Calls `seen` only for genuine deliveries, so that nobody can fill its
 * memory.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: Headers | HeaderRecord,
  secret: string | readonly (string | undefined)[],
  { seen = () => false }: VerifyOptions = {},
): Promise<VerifiedWebhook> {
  const delivery_id = headerOf(headers, "x-service-delivery");
  const signature = headerOf(headers, "x-service-signature");
  if (delivery_id === undefined || signature === undefined) {
    throw new WebhookRejected("missing_headers", "X-Service-Delivery or X-Service-Signature is missing");
  }
  // Otherwise an object would be read as an empty body, and the error would blame the signature.
  if (
    typeof rawBody !== "string" &&
    typeof (rawBody as { byteLength?: unknown } | undefined)?.byteLength !== "number"
  ) {
    const todo = 'pass it as received, before any parsing: in Express with express.raw({ type: "application/json" })';
    throw new WebhookRejected("bad_body", `the body is neither text nor bytes; ${todo}`);
  }
  const encoder = new TextEncoder();
  const body = typeof rawBody === "string" ? encoder.encode(rawBody) : new Uint8Array(rawBody);
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1];
  const secrets = [secret].flat().filter((each) => each !== undefined && each !== "");
  const fits =
    hex === undefined ? [] : await Promise.all(secrets.map((each) => isSigned(body, hex, encoder.encode(each))));
  if (!fits.includes(true)) {
    throw new WebhookRejected("bad_signature", "the signature does not match the body and the secret");
  }
  const event = parsed(body);
  // The signature does not cover this header. Without this check an attacker could send a captured delivery as another
  // event type.
  if (event.event_type !== headerOf(headers, "x-service-event")) {
    throw new WebhookRejected("bad_body", "X-Service-Event does not name the event of the body");
  }
  const manual_retry = headerOf(headers, "x-service-retry") === "true";
  return { event, delivery_id, manual_retry, repeated: await seen(delivery_id) };
}

/** WebCrypto's own verification compares in constant time. */
async function isSigned(body: Uint8Array<ArrayBuffer>, hex: string, secret: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  const signature = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify("HMAC", key, signature, body);
}

function parsed(body: Uint8Array): EventBody {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw new WebhookRejected("bad_body", "the body is not JSON");
  }
  if (typeof value !== "object" || value === null) throw new WebhookRejected("bad_body", "the body is not an object");
  return value as EventBody;
}

function headerOf(headers: Headers | HeaderRecord, name: string): string | undefined {
  if (typeof (headers as Headers).get === "function") return (headers as Headers).get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers as HeaderRecord)) {
    if (key.toLowerCase() === name) return typeof value === "string" ? value : value?.[0];
  }
  return undefined;
}
