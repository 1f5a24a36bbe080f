import type { Delivery } from "@countersign/contract";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import { readFailedDeliveries } from "../../store/webhooks/deliveries.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isDelivery = idPlace("delivery");

/** Lists failed deliveries, newest first. Faults: invalid_request (cursor). Source: spec §2.4. */
export async function listFailedDeliveries(
  runtime: Pick<Runtime, "db">,
  caller: Pick<Caller, "org_id">,
  {
    limit = pageLimitDefault,
    cursor,
    webhook_id = null,
  }: { limit?: number; cursor?: string; webhook_id?: string | null } = {},
): Promise<{ deliveries: Delivery[]; next_cursor: string | null }> {
  const before = decodeCursor(cursor, isDelivery);
  const found = await runtime.db.tenant(caller.org_id, (query) =>
    readFailedDeliveries(query, caller.org_id, { limit: limit + 1, before, webhook_id }),
  );
  const { rows: deliveries, next_cursor } = page(found, limit, (row) => row.delivery_id);
  return { deliveries, next_cursor };
}
