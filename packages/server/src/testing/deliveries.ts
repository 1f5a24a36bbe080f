import type { Webhook } from "@countersign/contract";
import { createClock } from "../edge/clock.ts";
import { createIds } from "../edge/ids.ts";
import type { Database } from "../store/database/db.ts";
import { type LeasedDelivery, large_bytes, type Room } from "../store/webhooks/delivery-queue.ts";
import { insertWebhook } from "../store/webhooks/webhooks.ts";
import { testOrganization } from "./nodes/http-node.ts";

const ids = createIds(createClock());

/** More room than these tests fill. */
export const roomy: Room = {
  ...{ places: 1_000, receivers: {}, per_webhook: 1_000, lease_ms: 60_000 },
  ...{ large_bytes: large_bytes.organization, lone_bytes: large_bytes.all },
};

/** The settings of a webhook that has none. */
export const plainSettings = {
  modes: null,
  membrane_ids: null,
  headers: {},
  alert_after_failures: null,
  pause_after_failures: null,
  paused_at: null,
  secret_overlap_ends_at: null,
} as const satisfies Partial<Webhook>;

/** The webhooks watch `quota.exceeded`. Their ids are in order, and end their URLs. */
export async function hearingOrganization(db: Database, webhooks: number) {
  const { org_id } = await testOrganization(db);
  const webhook_ids = Array.from({ length: webhooks }, () => ids.next("webhook")).sort();
  for (const id of webhook_ids) {
    const url = `https://receiver.test/${id}`;
    const webhook: Webhook = {
      ...{ id, organization_id: org_id, url, escalation_id: null, event_types: ["quota.exceeded"], secret: "***" },
      ...{ active: true, description: "", created_by: null, created_at: "2026-11-21T00:00:00.000000Z" },
      ...plainSettings,
    };
    await db.system((query) => insertWebhook(query, webhook, "sealed", null));
  }
  return { org_id, webhook_ids: webhook_ids as [string, ...string[]] };
}

export function byWebhook(leased: readonly LeasedDelivery[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { webhook_id } of leased) counts[webhook_id] = (counts[webhook_id] ?? 0) + 1;
  return counts;
}
