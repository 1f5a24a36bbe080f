import { Fault, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { deleteWebhooks } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Recording } from "../runtime.ts";

/** Deletes a webhook and cancels its pending deliveries. Faults: not_found, those of refuseEnded. Source: spec §4. */
export async function deleteWebhook(runtime: Recording, caller: KnownCaller, webhook_id: string): Promise<void> {
  const { org_id } = caller;
  await runtime.db.tenant(org_id, async (query) => {
    await cancelDeliveries(query, org_id, [webhook_id]);
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const changes = await deletedWebhooks(runtime, query, caller, [webhook_id]);
      if (changes.audit.length === 0) throw new Fault("not_found");
      return changes;
    });
  });
}

/**
 * Deletes webhooks under the head's lock. Their pending deliveries must be cancelled before. Returns the head's
 * changes, with an audit row for each existing webhook.
 */
export async function deletedWebhooks(
  runtime: Pick<Recording, "clock" | "ids">,
  query: Query,
  { org_id, actor }: Pick<KnownCaller, "org_id" | "actor">,
  webhook_ids: readonly string[],
): Promise<{ readonly audit: AuditRow[]; readonly webhooks_delta: number; readonly raise: readonly "policy"[] }> {
  const deleted = await deleteWebhooks(query, org_id, webhook_ids);
  const at = formatTimestampUs(runtime.clock.now_us());
  const audit = deleted.map(({ id: webhook_id, url }) =>
    auditRow(runtime.ids, { intent_id: null, at, actor, type: "webhook_deleted", data: { webhook_id, url } }),
  );
  const active = deleted.filter((webhook) => webhook.active).length;
  return { audit, webhooks_delta: -active, raise: active === 0 ? [] : ["policy"] };
}
