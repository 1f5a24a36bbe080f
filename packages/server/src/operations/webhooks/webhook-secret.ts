import { createHash } from "node:crypto";
import { webhook_secret_prefix } from "@countersign/contract";
import type { Ids } from "../../ports.ts";

/** `whsec_` and base64 of 32 bytes: what SHA-256 makes of 262 random bits. */
export function newWebhookSecret(ids: Ids): string {
  return webhook_secret_prefix + createHash("sha256").update(ids.secret(44)).digest("base64");
}
