import type { Delivery } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { withHead } from "../../store/organizations/heads.ts";
import { lockDeliveries, readDelivery, retryIsPending } from "../../store/webhooks/deliveries.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";
import { attempts_max, Stale, stale, staleEachTime, unlessStale } from "../shared/stale.ts";
import { listFailedDeliveries } from "./list-failed-deliveries.ts";
import { insertRetry, isActive, isErased, retriedRow, startOf } from "./retry-delivery.ts";

/**
 * Retries a page of failed deliveries like `retryDelivery`. Skips inactive webhooks, erased deliveries and those with an
 * uncancelled retry. So a walk over all pages sends each event once to each webhook, even if a page is requested twice. Faults:
 * invalid_request (cursor), unavailable.
 */
export async function retryFailedDeliveries(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  caller: Pick<Caller, "org_id" | "actor">,
  page: Parameters<typeof listFailedDeliveries>[2],
): Promise<{ deliveries: Delivery[]; next_cursor: string | null }> {
  const { deliveries, next_cursor } = await listFailedDeliveries(runtime, caller, page);
  return { deliveries: await retryEach(runtime, caller, deliveries, isLast), next_cursor };
}

/** Retries those of the listed deliveries that are wanted, also when they are locked. Faults: unavailable. */
export async function retryEach(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "deliveries">,
  caller: Pick<Caller, "org_id" | "actor">,
  listed: readonly Delivery[],
  isWanted: (delivery: Delivery) => boolean,
): Promise<Delivery[]> {
  const { org_id } = caller;
  const wanted = listed.filter(isWanted);
  const retried = async (query: Query): Promise<Delivery[]> => {
    await lockDeliveries(query, org_id, wanted.map(startOf));
    const active = new Map<string, boolean>();
    const retries: Delivery[] = [];
    // Reads one by one, because a body may have megabytes.
    for (const { delivery_id, webhook_id } of wanted) {
      if (!active.has(webhook_id)) active.set(webhook_id, await isActive(query, org_id, webhook_id));
      const failed = active.get(webhook_id) ? await readDelivery(query, org_id, delivery_id) : undefined;
      if (failed === undefined || isErased(failed) || !isWanted(failed)) continue;
      // A node with a late clock may have written a retry that sorts before a cancelled one.
      if (await retryIsPending(query, org_id, startOf(failed))) continue;
      retries.push(await insertRetry(runtime, query, org_id, failed));
    }
    if (retries.length === 0) return retries;
    await withHead(query, org_id, async () => {
      for (const webhook_id of new Set(retries.map((retry) => retry.webhook_id)))
        if (!(await isActive(query, org_id, webhook_id))) throw new Stale("webhooks");
      return { audit: retries.map((retry) => retriedRow(runtime, caller, retry)) };
    });
    return retries;
  };
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    const deliveries = await unlessStale(runtime.db.tenant(org_id, retried));
    if (deliveries === stale) continue;
    if (deliveries.length > 0) runtime.deliveries.wake(org_id, "retries");
    return deliveries;
  }
  throw staleEachTime();
}

function isLast({ latest_retry }: Delivery): boolean {
  return latest_retry === null || latest_retry.status === "cancelled";
}
