import { createHash } from "node:crypto";
import { webhook_secret_prefix } from "@countersign/contract";
import type { Ids, Sealer } from "../../ports.ts";
import { headersContext } from "../../store/webhooks/webhooks.ts";

/** Returns `whsec_` and the base64 of 32 bytes, the SHA-256 of 262 random bits. */
export function newWebhookSecret(ids: Ids): string {
  return webhook_secret_prefix + createHash("sha256").update(ids.secret(44)).digest("base64");
}

/** Returns the webhook's own headers, by name in lower case. Throws if no master key opens them. */
export function openHeaders(
  sealer: Pick<Sealer, "open">,
  headers_sealed: string | null,
  org_id: string,
  webhook_id: string,
): Record<string, string> {
  return headers_sealed === null ? {} : JSON.parse(sealer.open(headers_sealed, headersContext(org_id, webhook_id)));
}

/** Returns null without headers. */
export function sealedHeaders(
  sealer: Pick<Sealer, "seal">,
  headers: Readonly<Record<string, string>>,
  org_id: string,
  webhook_id: string,
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return sealer.seal(JSON.stringify(headers), headersContext(org_id, webhook_id));
}
