/** What tests of the queue of deliveries share: room for everything, organizations that hear, and counts of what was leased. */
import type { Webhook } from "@countersign/contract";
import { createClock } from "../edge/clock.ts";
import { createIds } from "../edge/ids.ts";
import type { Database } from "../store/database/db.ts";
import type { LeasedDelivery, Room } from "../store/webhooks/delivery-queue.ts";
import { insertWebhook } from "../store/webhooks/webhooks.ts";
import { testOrganization } from "./nodes/http-node.ts";

const ids = createIds(createClock());

/** More room than any of these tests fills. */
export const roomy: Room = {
  ...{ free: 1_000, reserve: 0, few: 0, per_organization: 1_000, per_webhook: 1_000, lease_ms: 60_000 },
  ...{ receivers: {}, organizations: {} },
};

/** A new organization with webhooks that watch `quota.exceeded`; their ids are in order, and end their URLs. */
export async function hearingOrganization(db: Database, webhooks: number) {
  const { org_id } = await testOrganization(db);
  const webhook_ids = Array.from({ length: webhooks }, () => ids.next("webhook")).sort();
  for (const id of webhook_ids) {
    const url = `https://receiver.test/${id}`;
    const webhook: Webhook = {
      ...{ id, organization_id: org_id, url, escalation_id: null, event_types: ["quota.exceeded"], secret: "***" },
      ...{ active: true, description: "", created_by: null, created_at: "2026-11-21T00:00:00.000000Z" },
    };
    await db.system((query) => insertWebhook(query, webhook, "sealed"));
  }
  return { org_id, webhook_ids: webhook_ids as [string, ...string[]] };
}

function counted(leased: readonly LeasedDelivery[], of: (each: LeasedDelivery) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of leased) counts[of(each)] = (counts[of(each)] ?? 0) + 1;
  return counts;
}

/** How many were leased of each organization. */
export const byOrganization = (leased: readonly LeasedDelivery[]) => counted(leased, ({ org_id }) => org_id);
/** How many were leased for each webhook. */
export const byWebhook = (leased: readonly LeasedDelivery[]) => counted(leased, ({ webhook_id }) => webhook_id);
