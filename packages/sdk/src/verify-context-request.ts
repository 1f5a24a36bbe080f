/** The side of your own endpoint that the service asks for facts. Source: api.md §5. */
import type { IntentSubmission } from "@countersign/contract";
import { verifyWebhook, WebhookRejected } from "./verify-webhook.ts";

/** A genuine question. Answer it with 200 and a context document, or with 204 when you know nothing. */
export interface ContextRequest {
  readonly intent: IntentSubmission["intent"];
  /** A new one for each question. */
  readonly request_id: string;
}

/**
 * Verifies a question to a context source. `rawBody` is the body as it arrived, before any parsing; `secret` is the whole
 * `whsec_…` text that the registration of the source showed. Throws `WebhookRejected`.
 */
export async function verifyContextRequest(
  rawBody: Parameters<typeof verifyWebhook>[0],
  headers: Parameters<typeof verifyWebhook>[1],
  secret: string,
): Promise<ContextRequest> {
  const { event, delivery_id } = await verifyWebhook(rawBody, headers, secret);
  const { contract_version, intent } = event as Partial<{ contract_version: unknown; intent: unknown }>;
  if (contract_version !== "1" || typeof intent !== "object" || intent === null) {
    throw new WebhookRejected("bad_body", "the body is no question for facts");
  }
  return { intent: intent as ContextRequest["intent"], request_id: delivery_id };
}
