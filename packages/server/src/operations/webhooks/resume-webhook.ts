import { Fault, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { endPause, lockWebhook, type StoredWebhook } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";

/** Ends a pause; a webhook that is not paused stays as it is. Kept deliveries stay failed. Faults: not_found. */
export async function resumeWebhook(
  runtime: Pick<Runtime, "db" | "clock" | "ids">,
  caller: KnownCaller,
  webhook_id: string,
): Promise<StoredWebhook> {
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  return runtime.db.tenant(org_id, async (query) => {
    let resumed: StoredWebhook | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const before = await lockWebhook(query, org_id, webhook_id);
      if (before === undefined) throw new Fault("not_found");
      resumed = { ...before, paused_at: null };
      if (before.paused_at === null) return null;
      await endPause(query, org_id, webhook_id);
      const data = { webhook_id, paused_at: before.paused_at };
      return { audit: [auditRow(runtime.ids, { intent_id: null, at, actor, type: "webhook_resumed", data })] };
    });
    return resumed as StoredWebhook;
  });
}
