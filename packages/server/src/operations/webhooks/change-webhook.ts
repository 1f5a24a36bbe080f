import { isDeepStrictEqual } from "node:util";
import type { WebhookChange } from "@countersign/contract";
import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { lockWebhook, type StoredWebhook, updateWebhook } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { hrefOf, subscribedTypes } from "./webhook-events.ts";

/**
 * Replaces the given settings. Deactivating cancels pending deliveries; events meanwhile are never sent. The next
 * attempt uses a new URL. Faults: not_found, unknown_event_type, webhook_url_refused.
 */
export async function changeWebhook(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "httpOut">,
  caller: KnownCaller,
  webhook_id: string,
  change: WebhookChange,
): Promise<StoredWebhook> {
  const { org_id, actor } = caller;
  const verdict = change.url === undefined ? undefined : await runtime.httpOut.check(change.url);
  const wanted = {
    ...(change.active === undefined ? {} : { active: change.active }),
    ...(change.description === undefined ? {} : { description: change.description }),
    ...(change.event_types === undefined ? {} : { event_types: subscribedTypes(change.event_types, verdict) }),
    ...(verdict === undefined ? {} : { url: hrefOf(verdict) }),
  };
  const at = formatTimestampUs(runtime.clock.now_us());
  return runtime.db.tenant(org_id, async (query) => {
    // Lock deliveries before the head, like settling, to avoid deadlocks.
    if (change.active !== undefined)
      await cancelDeliveries(query, org_id, [webhook_id], { unless_active: change.active });
    let after: StoredWebhook | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const before = await lockWebhook(query, org_id, webhook_id);
      if (before === undefined) throw new Fault("not_found");
      after = { ...before, ...wanted };
      // An unchanged webhook must not make decisions stale.
      if (isDeepStrictEqual(after, before)) return null;
      await updateWebhook(query, after);
      const webhooks_delta = Number(after.active) - Number(before.active);
      const audit = [
        auditRow(runtime.ids, { intent_id: null, at, actor, type: "webhook_changed", data: { webhook_id, ...wanted } }),
      ];
      const hears_anew = webhooks_delta !== 0 || change.event_types !== undefined;
      return { audit, webhooks_delta, raise: hears_anew ? ["policy"] : [] };
    });
    return after as StoredWebhook;
  });
}
