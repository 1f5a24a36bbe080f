/** The receiver's side: is this request ours, and have you seen it before? Source: contract §6. */
import type { EventBody } from "@countersign/contract";

/** Why a request is not to be believed. Answer it with 400 and do nothing. */
export class WebhookRejected extends Error {
  readonly reason: "missing_headers" | "bad_signature" | "bad_body";

  constructor(reason: WebhookRejected["reason"], message: string) {
    super(message);
    this.name = "WebhookRejected";
    this.reason = reason;
  }
}

/** A request that is genuine. */
export interface VerifiedWebhook {
  readonly event: EventBody;
  /** The same on the service's automatic retries. */
  readonly delivery_id: string;
  /** Somebody asked for this delivery by hand; `event.data.original_delivery_id` names the one that failed. */
  readonly manual_retry: boolean;
  /** Your replay guard knows this delivery: answer 2xx and do nothing. */
  readonly repeated: boolean;
}

/** What a receiver may add. */
export interface VerifyOptions {
  /**
   * Remembers the delivery and says whether it was known already, in one step: the signature has no timestamp, so this is
   * also the guard against replays. It covers the body, not the id: against somebody who can rewrite captured headers,
   * remember what the event is about (type, intent, timestamp) too. Without it `repeated` is always false.
   */
  readonly seen?: (delivery_id: string) => boolean | Promise<boolean>;
}

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a delivery. `rawBody` is the body as it arrived, before any parsing: parsed and written again it has another
 * signature. `secret` is the whole `whsec_…` text; several while one takes the place of another: those that are unset count for
 * nothing. The comparison takes the same time whatever differs.
 * Throws `WebhookRejected`; only then ask `seen`, so that nobody can fill your memory with invented ids.
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
  // An object would be read as no bytes at all, and the signature blamed.
  if (
    typeof rawBody !== "string" &&
    typeof (rawBody as { byteLength?: unknown } | undefined)?.byteLength !== "number"
  ) {
    const todo = 'give it as it arrived, before any parsing: in Express with express.raw({ type: "application/json" })';
    throw new WebhookRejected("bad_body", `the body is neither text nor bytes; ${todo}`);
  }
  const encoder = new TextEncoder();
  const body = typeof rawBody === "string" ? encoder.encode(rawBody) : new Uint8Array(rawBody);
  const hex = /^sha256=([0-9a-f]{64})$/.exec(signature)?.[1];
  const secrets = [secret].flat().filter((each) => each !== undefined && each !== "");
  const fits =
    hex === undefined ? [] : await Promise.all(secrets.map((each) => isSigned(body, hex, encoder.encode(each))));
  if (!fits.includes(true)) {
    throw new WebhookRejected("bad_signature", "the signature does not fit the body and the secret");
  }
  const event = parsed(body);
  // Signed too, unlike the header: whoever captured a delivery cannot make a new one of it for types of his choice.
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
  if (typeof value !== "object" || value === null) throw new WebhookRejected("bad_body", "the body is no object");
  return value as EventBody;
}

function headerOf(headers: Headers | HeaderRecord, name: string): string | undefined {
  if (typeof (headers as Headers).get === "function") return (headers as Headers).get(name) ?? undefined;
  for (const [key, value] of Object.entries(headers as HeaderRecord)) {
    if (key.toLowerCase() === name) return typeof value === "string" ? value : value?.[0];
  }
  return undefined;
}
