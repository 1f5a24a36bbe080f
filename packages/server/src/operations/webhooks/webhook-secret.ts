import { createHash } from "node:crypto";
import { webhook_secret_prefix } from "@countersign/contract";
import type { Ids } from "../../ports.ts";

/** Returns `whsec_` and the base64 of 32 bytes, the SHA-256 of 262 random bits. */
export function newWebhookSecret(ids: Ids): string {
  return webhook_secret_prefix + createHash("sha256").update(ids.secret(44)).digest("base64");
}
