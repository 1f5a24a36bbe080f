import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { lockWebhook, type StoredWebhook, secretContext, updateWebhookSecret } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { newWebhookSecret } from "./webhook-secret.ts";

/**
 * Replaces the signing secret; only this answer shows the new one. All later attempts use it, including those of older
 * deliveries. Faults: not_found.
 */
export async function rotateWebhookSecret(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer">,
  caller: KnownCaller,
  webhook_id: string,
): Promise<StoredWebhook> {
  const { ids, sealer } = runtime;
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  const secret = newWebhookSecret(ids);
  return runtime.db.tenant(org_id, async (query) => {
    let webhook: StoredWebhook | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      webhook = await lockWebhook(query, org_id, webhook_id);
      if (webhook === undefined) throw new Fault("not_found");
      await updateWebhookSecret(query, webhook, sealer.seal(secret, secretContext(org_id, webhook_id)));
      const entry = { intent_id: null, at, actor, type: "webhook_secret_rotated", data: { webhook_id } } as const;
      return { audit: [auditRow(ids, entry)] };
    });
    return { ...(webhook as StoredWebhook), secret };
  });
}
