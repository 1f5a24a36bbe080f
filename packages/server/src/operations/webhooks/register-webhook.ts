import { limits, secret_mask, type Webhook, type WebhookInput } from "@countersign/contract";
import { type Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import { countWebhooks, escalationExists, insertWebhook, secretContext } from "../../store/webhooks/webhooks.ts";
import { type KnownCaller, refuseEnded } from "../people/caller-ended.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { hrefOf, subscribedTypes } from "./webhook-events.ts";
import { newWebhookSecret, sealedHeaders } from "./webhook-secret.ts";
import { acceptedHeaders, auditedSettings, refuseUnknownMembranes, settingsIn } from "./webhook-settings.ts";

/**
 * Registers a webhook. Only the first answer shows the secret; a replay shows `***`. Raises the policy epoch, so that
 * decisions in flight are made again with their event. Faults: unknown_event_type, webhook_url_refused, invalid_request
 * (headers), not_found (escalation, membrane), already_exists (100 webhooks), idempotency_conflict.
 */
export async function registerWebhook(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "httpOut">,
  caller: KnownCaller & Pick<Caller, "lineage_id" | "user_id">,
  input: WebhookInput,
  idempotency_key?: string,
): Promise<OnceAnswer<Webhook>> {
  const { ids, sealer } = runtime;
  const { org_id, actor } = caller;
  // Check outside the transaction, refuse inside, because a replay must work even under other settings.
  const verdict = await runtime.httpOut.check(input.url);
  const event_types = subscribedTypes(input.event_types, verdict);
  const headers = acceptedHeaders(input.headers ?? {});
  const terms = { operation: "registerWebhook", idempotency_key, request: input };
  const work = async (query: Query): Promise<Webhook> => {
    const url = hrefOf(verdict);
    const at = formatTimestampUs(runtime.clock.now_us());
    const id = ids.next("webhook");
    const secret = newWebhookSecret(ids);
    const { description = "" } = input;
    const escalation_id = input.escalation_id ?? null;
    const created_by = caller.key_id ?? caller.user_id;
    const about = { url, organization_id: org_id, escalation_id, event_types, active: true, description, created_by };
    const settings = settingsIn(input, headers);
    const webhook: Webhook = { id, created_at: at, ...about, secret, ...settings };
    await withHead(query, org_id, async () => {
      await refuseEnded(query, caller);
      if (escalation_id !== null && !(await escalationExists(query, org_id, escalation_id)))
        throw faultAt("not_found", "/escalation_id", "not_found", "There is no such escalation.");
      await refuseUnknownMembranes(query, org_id, input.membrane_ids);
      if ((await countWebhooks(query, org_id)) >= limits.webhooks_per_organization_max) throw tooMany();
      const secret_sealed = sealer.seal(secret, secretContext(org_id, id));
      await insertWebhook(query, webhook, secret_sealed, sealedHeaders(sealer, headers, org_id, id));
      const data = { webhook_id: id, url, escalation_id, event_types, ...auditedSettings(input) };
      const audit = [auditRow(ids, { intent_id: null, at, actor, type: "webhook_created", data })];
      return { raise: ["policy"], webhooks_delta: 1, audit };
    });
    return webhook;
  };
  return idempotent(runtime, caller, terms, work, (webhook) => ({ ...webhook, secret: secret_mask }));
}

function tooMany(): Fault {
  const message = `An organization has at most ${limits.webhooks_per_organization_max} webhooks; delete one first.`;
  return faultAt("already_exists", "", "out_of_range", message);
}
