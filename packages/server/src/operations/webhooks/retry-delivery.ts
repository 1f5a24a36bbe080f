import type { Delivery, EventBody } from "@countersign/contract";
import { eventBodyText, Fault, faultAt, formatTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import { withHead } from "../../store/organizations/heads.ts";
import type { OnceAnswer } from "../../store/rows/idempotency.ts";
import {
  type DeliveryWithBody,
  insertDelivery,
  lockDeliveries,
  readDelivery,
  retryIsPending,
} from "../../store/webhooks/deliveries.ts";
import { readWebhook } from "../../store/webhooks/webhooks.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { idempotent } from "../shared/idempotent.ts";
import { untried } from "./test-webhook.ts";

/**
 * Retries a failed delivery as a new delivery with three attempts, because receivers skip repeated ids. Only one retry
 * of a chain can be pending. Faults: not_found, state_conflict (not failed, a retry is pending, or its webhook is gone,
 * inactive or paused), idempotency_conflict. Source: spec §2.4.
 */
export async function retryDelivery(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  caller: Pick<Caller, "org_id" | "lineage_id" | "actor">,
  delivery_id: string,
  idempotency_key: string | undefined,
): Promise<OnceAnswer<Delivery>> {
  const { org_id } = caller;
  const terms = { operation: "retry_delivery", idempotency_key, request: { params: { delivery_id } } };
  const answer = await idempotent(runtime, caller, terms, async (query) => {
    const retry = await retryOnce(runtime, query, org_id, delivery_id);
    await withHead(query, org_id, async () => {
      if (!(await isActive(query, org_id, retry.webhook_id)))
        throw conflict("Its webhook is deleted, inactive or paused.");
      return { audit: [retriedRow(runtime, caller, retry)] };
    });
    return retry;
  });
  if (!answer.replayed) runtime.deliveries.wake(org_id, "retries");
  return answer;
}

async function retryOnce(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  org_id: string,
  delivery_id: string,
): Promise<Delivery> {
  const failed = await readDelivery(query, org_id, delivery_id);
  if (failed === undefined) throw new Fault("not_found");
  if (failed.status !== "failed") throw conflict(`The delivery is ${failed.status}, not failed.`);
  if (isErased(failed)) throw new Fault("erased");
  const original_delivery_id = startOf(failed);
  await lockDeliveries(query, org_id, [original_delivery_id]);
  if (await retryIsPending(query, org_id, original_delivery_id)) throw conflict("A retry of it is under way.");
  return insertRetry(runtime, query, org_id, failed);
}

/** Returns true if the webhook exists, is active and is not paused. Stays true while the head's lock is held. */
export async function isActive(query: Query, org_id: string, webhook_id: string): Promise<boolean> {
  const webhook = await readWebhook(query, org_id, webhook_id);
  return webhook?.active === true && webhook.paused_at === null;
}

export function startOf({ original_delivery_id, delivery_id }: Delivery): string {
  return original_delivery_id ?? delivery_id;
}

/** An event always has a body, so an empty one was erased. */
export const isErased = ({ body }: DeliveryWithBody): boolean => body === "";

/** Writes the retry of a failed delivery. Its chain must be locked. */
export async function insertRetry(
  runtime: Pick<Runtime, "clock" | "ids">,
  query: Query,
  org_id: string,
  failed: DeliveryWithBody,
): Promise<Delivery> {
  const { webhook_id, event_type, intent_id, escalation_id, event_id } = failed;
  const original_delivery_id = startOf(failed);
  const { webhook_id: _, ...draft } = JSON.parse(failed.body) as EventBody;
  const body = eventBodyText({ ...draft, data: { ...draft.data, original_delivery_id } }, webhook_id);
  const shown = {
    delivery_id: runtime.ids.next("delivery"),
    webhook_id,
    event_type,
    intent_id,
    escalation_id,
    created_at: formatTimestampUs(runtime.clock.now_us()),
    original_delivery_id,
  };
  await insertDelivery(query, { ...shown, org_id, event_id, body });
  return { ...shown, status: "pending", ...untried };
}

/** Returns the audit row. Write it last, because it locks the head. */
export function retriedRow(
  { ids }: Pick<Runtime, "ids">,
  { actor }: Pick<Caller, "actor">,
  { created_at: at, intent_id, delivery_id, webhook_id, event_type, original_delivery_id }: Delivery,
): AuditRow {
  const data = { delivery_id, webhook_id, event_type, original_delivery_id };
  return auditRow(ids, { intent_id, at, actor, type: "delivery_retried", data });
}

function conflict(message: string): Fault {
  return faultAt("state_conflict", "", "not_allowed", message);
}
