import type { DeliveriesQuery, Delivery } from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import { decodeCursor, idPlace, page, pageLimitDefault } from "../../store/rows/cursor.ts";
import { firstIdAt } from "../../store/rows/first-id-at.ts";
import { type DeliveryRange, readDeliveries } from "../../store/webhooks/deliveries.ts";
import type { Runtime } from "../runtime.ts";
import type { Caller } from "../shared/caller.ts";

const isDelivery = idPlace("delivery");

/** Lists deliveries, newest first. Faults: invalid_request (cursor). */
export async function listDeliveries(
  runtime: Pick<Runtime, "db">,
  { org_id }: Pick<Caller, "org_id">,
  terms: DeliveriesQuery = {},
): Promise<{ deliveries: Delivery[]; next_cursor: string | null }> {
  const { limit = pageLimitDefault, cursor, webhook_id = null, status = null } = terms;
  const before = decodeCursor(cursor, isDelivery);
  const range: DeliveryRange = { limit: limit + 1, before, webhook_id, status, ...idsIn(terms) };
  const found = await runtime.db.tenant(org_id, (query) => readDeliveries(query, org_id, range));
  const { rows: deliveries, next_cursor } = page(found, limit, (row) => row.delivery_id);
  return { deliveries, next_cursor };
}

/** Returns the ids that bound one delivery, or this time, to the millisecond. */
function idsIn({ delivery_id, from, to }: DeliveriesQuery): Pick<DeliveryRange, "from_id" | "to_id"> {
  if (delivery_id !== undefined) return { from_id: delivery_id, to_id: `${delivery_id}~` };
  const idAt = (time: string) => firstIdAt("delivery", Math.max(0, Math.ceil((parseTimestampUs(time) ?? 0) / 1_000)));
  return { from_id: from === undefined ? first_id : idAt(from), to_id: to === undefined ? last_id : idAt(to) };
}

const first_id = "dlv_";
const last_id = "dlv_~";
