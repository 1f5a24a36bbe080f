import { Fault, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { lockWebhook, deleteWebhook as removeWebhook } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";

/** Deletes a webhook; its pending deliveries end cancelled. Faults: not_found, those of refuseEnded. Source: contract §4. */
export async function deleteWebhook(runtime: Recording, caller: KnownCaller, webhook_id: string): Promise<void> {
  const { org_id } = caller;
  await runtime.db.tenant(org_id, async (query) => {
    await cancelDeliveries(query, org_id, webhook_id);
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const { audit, was_active } = await deletedWebhook(runtime, query, caller, webhook_id);
      return was_active ? { audit: [audit], webhooks_delta: -1, raise: ["policy"] } : { audit: [audit] };
    });
  });
}

/**
 * Deletes a webhook under the head's lock. Its pending deliveries are cancelled before. Returns the row for the audit trail, and whether
 * the head counted it as active. Faults: not_found.
 */
export async function deletedWebhook(
  runtime: Pick<Recording, "clock" | "ids">,
  query: Query,
  { org_id, actor }: Pick<KnownCaller, "org_id" | "actor">,
  webhook_id: string,
): Promise<{ readonly audit: AuditRow; readonly was_active: boolean }> {
  const webhook = await lockWebhook(query, org_id, webhook_id);
  if (webhook === undefined) throw new Fault("not_found");
  await removeWebhook(query, org_id, webhook_id);
  const at = formatTimestampUs(runtime.clock.now_us());
  const data = { webhook_id, url: webhook.url };
  const audit = auditRow(runtime.ids, { intent_id: null, at, actor, type: "webhook_deleted", data });
  return { audit, was_active: webhook.active };
}
