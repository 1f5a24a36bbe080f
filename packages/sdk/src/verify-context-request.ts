/** Verifies the service's requests for facts to your endpoint. */
import type { IntentSubmission } from "@countersign/contract";
import { verifyWebhook, WebhookRejected } from "./verify-webhook.ts";

/** A genuine request. Answer it with 200 and a context document, or with 204 if you have no facts. */
export interface ContextRequest {
  readonly intent: IntentSubmission["intent"];
  /** New for each request. */
  readonly request_id: string;
}

/**
 * Verifies a request to a context source. `rawBody` is the body before any parsing. `secret` is the whole `whsec_…`
 * text from the registration. Throws `WebhookRejected`.
 */
export async function verifyContextRequest(
  rawBody: Parameters<typeof verifyWebhook>[0],
  headers: Parameters<typeof verifyWebhook>[1],
  secret: string,
): Promise<ContextRequest> {
  const { event, delivery_id } = await verifyWebhook(rawBody, headers, secret);
  const { contract_version, intent } = event as Partial<{ contract_version: unknown; intent: unknown }>;
  if (contract_version !== "1" || typeof intent !== "object" || intent === null) {
    throw new WebhookRejected("bad_body", "the body is not a request for facts");
  }
  return { intent: intent as ContextRequest["intent"], request_id: delivery_id };
}
