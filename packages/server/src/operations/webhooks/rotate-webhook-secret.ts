import type { SecretRotation } from "@countersign/contract";
import { Fault, faultAt, formatTimestampUs } from "@countersign/core";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import {
  addNextSecret,
  lockWebhook,
  replaceSecret,
  type StoredWebhook,
  secretContext,
} from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import { newWebhookSecret } from "./webhook-secret.ts";

/**
 * Gives the webhook a new signing secret; only this answer shows it. Without an overlap it signs all later attempts,
 * including those of older deliveries. With an overlap both secrets sign until it ends. Faults: not_found,
 * state_conflict (an overlap is running).
 */
export async function rotateWebhookSecret(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer">,
  caller: KnownCaller,
  webhook_id: string,
  { overlap_seconds = 0 }: SecretRotation = {},
): Promise<StoredWebhook> {
  const { ids, sealer } = runtime;
  const { org_id, actor } = caller;
  const at = formatTimestampUs(runtime.clock.now_us());
  const secret = newWebhookSecret(ids);
  return runtime.db.tenant(org_id, async (query) => {
    let webhook: StoredWebhook | undefined;
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      const before = await lockWebhook(query, org_id, webhook_id);
      if (before === undefined) throw new Fault("not_found");
      const sealed = sealer.seal(secret, secretContext(org_id, webhook_id));
      let secret_overlap_ends_at: string | null = null;
      if (overlap_seconds === 0) await replaceSecret(query, before, sealed);
      else {
        if (before.secret_overlap_ends_at !== null) throw overlapRuns(before.secret_overlap_ends_at);
        secret_overlap_ends_at = await addNextSecret(query, before, sealed, overlap_seconds);
      }
      webhook = { ...before, secret_overlap_ends_at };
      const data = { webhook_id, ...(secret_overlap_ends_at === null ? {} : { secret_overlap_ends_at }) };
      return { audit: [auditRow(ids, { intent_id: null, at, actor, type: "webhook_secret_rotated", data })] };
    });
    return { ...(webhook as StoredWebhook), secret };
  });
}

function overlapRuns(ends_at: string): Fault {
  const message = `Two secrets are valid until ${ends_at}. Wait until then, or rotate without an overlap.`;
  return faultAt("state_conflict", "/overlap_seconds", "not_allowed", message);
}
