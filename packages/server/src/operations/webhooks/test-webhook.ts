import { type Delivery, test_event_type } from "@countersign/contract";
import { eventBodyText, Fault, faultAt, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { insertDelivery } from "../../store/webhooks/deliveries.ts";
import { readWebhook } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";

/**
 * Sends an event of the type `webhook.test` to a webhook, whatever it subscribed to. Faults: not_found, state_conflict
 * (inactive or paused).
 */
export async function testWebhook(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  caller: KnownCaller,
  webhook_id: string,
): Promise<Delivery> {
  const { org_id, actor } = caller;
  const delivery_id = runtime.ids.next("delivery");
  const created_at = formatTimestampUs(runtime.clock.now_us());
  const shown = { delivery_id, webhook_id, event_type: test_event_type, intent_id: null, escalation_id: null } as const;
  await runtime.db.tenant(org_id, async (query) => {
    const event = { event_type: test_event_type, organization_id: org_id, timestamp: created_at } as const;
    const body = eventBodyText({ ...unset, ...event, data: { message: "This is a test." } }, webhook_id);
    await insertDelivery(query, {
      ...shown,
      org_id,
      event_id: delivery_id,
      body,
      original_delivery_id: null,
      created_at,
    });
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const webhook = await readWebhook(query, org_id, webhook_id);
      if (webhook === undefined) throw new Fault("not_found");
      if (!webhook.active)
        throw faultAt("state_conflict", "", "not_allowed", "The webhook is off. Switch it on first.");
      if (webhook.paused_at !== null)
        throw faultAt("state_conflict", "", "not_allowed", "The webhook is paused. Resume it first.");
      const data = { webhook_id, delivery_id };
      return {
        audit: [auditRow(runtime.ids, { intent_id: null, at: created_at, actor, type: "webhook_tested", data })],
      };
    });
  });
  runtime.deliveries.wake(org_id, "retries");
  return { ...shown, status: "pending", created_at, original_delivery_id: null, ...untried };
}

/** Members of a delivery before its first attempt. */
export const untried = { response_status: null, error: null, attempts: [], failed_at: null, latest_retry: null };

const unset = {
  decision_id: null,
  escalation_id: null,
  escalation_status: null,
  intent_id: null,
  observation_id: null,
  pattern_id: null,
  policy_id: null,
};
