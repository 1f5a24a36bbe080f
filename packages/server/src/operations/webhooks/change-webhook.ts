import { isDeepStrictEqual } from "node:util";
import type { WebhookChange } from "@countersign/contract";
import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { cancelDeliveries } from "../../store/webhooks/deliveries.ts";
import { lockWebhook, readHeadersSealed, type StoredWebhook, updateWebhook } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { hrefOf, subscribedTypes } from "./webhook-events.ts";
import { openHeaders, sealedHeaders } from "./webhook-secret.ts";
import { acceptedHeaders, auditedSettings, maskedHeaders, refuseUnknownMembranes } from "./webhook-settings.ts";

/**
 * Replaces the given settings. Deactivating cancels pending deliveries; events meanwhile are never sent. The next
 * attempt uses a new URL and new headers. Faults: not_found, unknown_event_type, webhook_url_refused, invalid_request
 * (headers).
 */
export async function changeWebhook(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "httpOut" | "sealer">,
  caller: KnownCaller,
  webhook_id: string,
  change: WebhookChange,
): Promise<StoredWebhook> {
  const { org_id, actor } = caller;
  const { sealer } = runtime;
  const verdict = change.url === undefined ? undefined : await runtime.httpOut.check(change.url);
  const wanted = {
    ...(change.active === undefined ? {} : { active: change.active }),
    ...(change.description === undefined ? {} : { description: change.description }),
    ...(change.event_types === undefined ? {} : { event_types: subscribedTypes(change.event_types, verdict) }),
    ...(verdict === undefined ? {} : { url: hrefOf(verdict) }),
    ...given(change, ["modes", "membrane_ids", "alert_after_failures", "pause_after_failures"]),
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
      await refuseUnknownMembranes(query, org_id, change.membrane_ids);
      const sealed_before = await readHeadersSealed(query, org_id, webhook_id);
      const headers =
        change.headers && acceptedHeaders(change.headers, () => openHeaders(sealer, sealed_before, org_id, webhook_id));
      after = { ...before, ...wanted, ...(headers && { headers: maskedHeaders(headers) }) };
      // An unchanged webhook must not make decisions stale. New values of headers look like the old ones.
      if (headers === undefined && isDeepStrictEqual(after, before)) return null;
      // Switching off or on ends a pause.
      if (after.active !== before.active) after = { ...after, paused_at: null };
      await updateWebhook(
        query,
        after,
        headers === undefined ? sealed_before : sealedHeaders(sealer, headers, org_id, webhook_id),
      );
      const webhooks_delta = Number(after.active) - Number(before.active);
      const audit = [
        auditRow(runtime.ids, {
          intent_id: null,
          at,
          actor,
          type: "webhook_changed",
          data: { webhook_id, ...wanted, ...auditedSettings(change) },
        }),
      ];
      const hears_anew = webhooks_delta !== 0 || change.event_types !== undefined;
      return { audit, webhooks_delta, raise: hears_anew ? ["policy"] : [] };
    });
    return after as StoredWebhook;
  });
}

/** Returns these members of the change, if it has them. */
function given<K extends keyof WebhookChange>(change: WebhookChange, names: readonly K[]): Pick<WebhookChange, K> {
  return Object.fromEntries(
    names.flatMap((name) => (change[name] === undefined ? [] : [[name, change[name]]])),
  ) as Pick<WebhookChange, K>;
}
