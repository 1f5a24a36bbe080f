import { type Delivery, type ReplayInput, test_event_type } from "@countersign/contract";
import { faultAt } from "@countersign/core";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { getWebhook } from "./get-webhook.ts";
import { listDeliveries } from "./list-deliveries.ts";
import { retryEach } from "./retry-failed-deliveries.ts";

/**
 * Sends a page of the webhook's events in the time range again, each as a retry of its first delivery. Faults:
 * not_found, state_conflict (inactive or paused), invalid_request (cursor), unavailable.
 */
export async function replayDeliveries(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  caller: Pick<Caller, "org_id" | "actor">,
  webhook_id: string,
  { from, to, which = "failed" }: ReplayInput,
  place: { readonly limit?: number; readonly cursor?: string } = {},
): Promise<{ deliveries: Delivery[]; next_cursor: string | null }> {
  const { active, paused_at } = await getWebhook(runtime, caller, webhook_id);
  if (!active || paused_at !== null) {
    const message = active ? "The webhook is paused. Resume it first." : "The webhook is off. Switch it on first.";
    throw faultAt("state_conflict", "", "not_allowed", message);
  }
  const terms = { ...place, webhook_id, from, to };
  const { deliveries, next_cursor } = await listDeliveries(runtime, caller, terms);
  const statuses: readonly Delivery["status"][] = which === "all" ? ["delivered", "failed"] : ["failed"];
  const isWanted = ({ original_delivery_id, event_type, status, latest_retry }: Delivery) =>
    original_delivery_id === null &&
    event_type !== test_event_type &&
    statuses.includes(status) &&
    latest_retry?.status !== "pending" &&
    (which === "all" || latest_retry?.status !== "delivered");
  return { deliveries: await retryEach(runtime, caller, deliveries, isWanted), next_cursor };
}
