import type { Delivery } from "@countersign/contract";
import { paused_delivery_text } from "@countersign/core";
import type { Query } from "../../ports.ts";

export interface NewDelivery {
  readonly org_id: string;
  readonly delivery_id: string;
  readonly webhook_id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly intent_id: string | null;
  readonly escalation_id: string | null;
  /** The request body of every attempt, byte for byte. */
  readonly body: string;
  /** Null: not a retry. */
  readonly original_delivery_id: string | null;
  /** RFC 3339. */
  readonly created_at: string;
}

export async function insertDelivery(query: Query, delivery: NewDelivery): Promise<void> {
  const { org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body } = delivery;
  const { original_delivery_id, created_at } = delivery;
  await query(
    `insert into deliveries (org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body, status, attempts,
       outcomes, due_at, original_delivery_id, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, 'pending', 0, '[]', clock_timestamp(), $9, $10::timestamptz)`,
    [
      ...[org_id, delivery_id, webhook_id, event_id, event_type, intent_id, escalation_id, body],
      ...[original_delivery_id, created_at],
    ],
  );
}

/**
 * Cancels pending deliveries of webhooks that are deleted, or switched off or on. `unless_active`: skips active
 * webhooks. Locks by id, like settling.
 */
export async function cancelDeliveries(
  query: Query,
  org_id: string,
  webhook_ids: readonly string[],
  { unless_active = false } = {},
): Promise<void> {
  const pending = `org_id = $1 and webhook_id = any($2::text[]) and status = 'pending'
    and not ($3 and webhook_id in (select w.webhook_id from webhooks w where w.org_id = $1 and w.webhook_id = any($2) and w.active))`;
  const params = [org_id, webhook_ids, unless_active];
  const locked = `select from deliveries where ${pending} order by delivery_id for update`;
  await query(`select count(*) from (${locked}) locked`, params);
  await query(`update deliveries set status = 'cancelled', settled_at = now() where ${pending}`, params);
}

/**
 * SQL: the newest later retry. All retries of a chain name its first delivery. With `coalesce` instead of `case`,
 * row-level security uses no index.
 */
const latest_retry = `select json_build_object('delivery_id', r.delivery_id, 'status', r.status) from deliveries r
  where r.org_id = d.org_id and r.original_delivery_id = case when d.original_delivery_id is null then d.delivery_id else d.original_delivery_id end
    and r.delivery_id > d.delivery_id
  order by r.delivery_id desc limit 1`;

/** SQL: the last attempt's error. Only a pause makes a delivery fail before any attempt. */
const error = `coalesce(d.outcomes -> -1 ->> 'error',
  case when d.status = 'failed' and d.outcomes::text = '[]' then '${paused_delivery_text}' end)`;

const shown = `d.delivery_id, d.webhook_id, d.event_type, d.intent_id, d.escalation_id, d.status,
  (d.outcomes -> -1 ->> 'response_status')::integer as response_status, ${error} as error,
  d.outcomes as attempts, d.created_at, case when d.status = 'failed' then d.settled_at end as failed_at, d.original_delivery_id,
  (${latest_retry}) as latest_retry`;

/** Newest first, older than `before`. */
export function readFailedDeliveries(
  query: Query,
  org_id: string,
  { limit, before, webhook_id }: { limit: number; before: string | null; webhook_id: string | null },
): Promise<Delivery[]> {
  return query<Delivery>(
    `select ${shown} from deliveries d
     where d.org_id = $1 and d.status = 'failed' and ($3::text is null or d.delivery_id < $3)
       and ($4::text is null or d.webhook_id = $4)
     order by d.delivery_id desc limit $2::integer`,
    [org_id, limit, before, webhook_id],
  );
}

export interface DeliveryRange {
  readonly limit: number;
  readonly before: string | null;
  readonly webhook_id: string | null;
  readonly status: Delivery["status"] | null;
  /** Ids that bound the time: not below, and below. */
  readonly from_id: string;
  readonly to_id: string;
}

/** Newest first, older than `before`. */
export function readDeliveries(query: Query, org_id: string, range: DeliveryRange): Promise<Delivery[]> {
  const { limit, before, webhook_id, status, from_id, to_id } = range;
  return query<Delivery>(
    `select ${shown} from deliveries d
     where d.org_id = $1 and d.delivery_id >= $3 and d.delivery_id < $4
       and ($5::text is null or d.webhook_id = $5) and ($6::text is null or d.status = $6)
     order by d.delivery_id desc limit $2::integer`,
    [org_id, limit, from_id, before !== null && before < to_id ? before : to_id, webhook_id, status],
  );
}

export type DeliveryWithBody = Delivery & Pick<NewDelivery, "body" | "event_id">;

export async function readDelivery(
  query: Query,
  org_id: string,
  delivery_id: string,
): Promise<DeliveryWithBody | undefined> {
  const rows = await query<DeliveryWithBody>(
    `select ${shown}, d.body, d.event_id from deliveries d where d.org_id = $1 and d.delivery_id = $2`,
    [org_id, delivery_id],
  );
  return rows[0];
}

/** Locks in the order of ids. Retries of a chain lock its first delivery. */
export async function lockDeliveries(query: Query, org_id: string, delivery_ids: readonly string[]): Promise<void> {
  await query(
    "select 1 as one from deliveries where org_id = $1 and delivery_id = any($2) order by delivery_id for update",
    [org_id, delivery_ids],
  );
}

export async function retryIsPending(query: Query, org_id: string, original_delivery_id: string): Promise<boolean> {
  const rows = await query(
    "select 1 as one from deliveries where org_id = $1 and original_delivery_id = $2 and status = 'pending' limit 1",
    [org_id, original_delivery_id],
  );
  return rows.length > 0;
}
