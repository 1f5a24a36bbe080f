import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { lockWebhook, deleteWebhook as removeWebhook } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";

/** Deletes a webhook; its pending deliveries end cancelled. Faults: not_found, those of refuseEnded. Source: contract §4. */
export async function deleteWebhook(runtime: Recording, caller: KnownCaller, webhook_id: string): Promise<void> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  await runtime.db.tenant(org_id, async (query) => {
    await cancelDeliveries(query, org_id, webhook_id);
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const webhook = await lockWebhook(query, org_id, webhook_id);
      if (webhook === undefined) throw new Fault("not_found");
      await removeWebhook(query, org_id, webhook_id);
      const data = { webhook_id, url: webhook.url };
      const audit = [auditRow(runtime.ids, { intent_id: null, at, actor, type: "webhook_deleted", data })];
      return webhook.active ? { audit, webhooks_delta: -1, raise: ["policy"] } : { audit };
    });
  });
}
