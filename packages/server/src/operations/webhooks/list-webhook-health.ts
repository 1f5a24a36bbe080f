import type { WebhookHealth } from "@countersign/contract";
import { durationQuantile } from "@countersign/core";
import { readHealth } from "../../store/webhooks/webhook-health.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const hours_default = 24;

/** Returns what the attempts of the last hours say about each webhook, newest first. */
export async function listWebhookHealth(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  { hours = hours_default }: { readonly hours?: number } = {},
): Promise<WebhookHealth[]> {
  const rows = await runtime.db.tenant(org_id, (query) => readHealth(query, org_id, hours));
  return rows.map(({ durations, attempts, accepted, ...rest }) => ({
    ...rest,
    attempts,
    accepted,
    success_rate: attempts === 0 ? null : accepted / attempts,
    p95_ms: durationQuantile(durations, 0.95),
  }));
}
