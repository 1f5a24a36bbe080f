import { type EventType, secret_mask, type Webhook } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

/** `secret` is the mask that answers show. */
export type StoredWebhook = Omit<Webhook, "event_types"> & { readonly event_types: readonly EventType[] };

const columns = `webhook_id as id, created_at, url, org_id as organization_id, escalation_id, event_types,
  '${secret_mask}' as secret, active, description, created_by, modes, membrane_ids,
  (select coalesce(json_object_agg(name, '${secret_mask}'), '{}') from unnest(header_names) name) as headers,
  alert_after_failures, pause_after_failures, paused_at,
  case when overlap_ends_at > now() then overlap_ends_at end as secret_overlap_ends_at`;

/** Newest first, older than `before`. */
export function readWebhooks(
  query: Query,
  org_id: string,
  limit: number,
  before: string | null,
): Promise<StoredWebhook[]> {
  return query<StoredWebhook>(
    `select ${columns} from webhooks where org_id = $1 and ($3::text is null or webhook_id < $3)
     order by webhook_id desc limit $2::integer`,
    [org_id, limit, before],
  );
}

export function readWebhook(query: Query, org_id: string, webhook_id: string): Promise<StoredWebhook | undefined> {
  return webhookWhere(query, org_id, webhook_id, "");
}

export function lockWebhook(query: Query, org_id: string, webhook_id: string): Promise<StoredWebhook | undefined> {
  return webhookWhere(query, org_id, webhook_id, "for update");
}

async function webhookWhere(
  query: Query,
  org_id: string,
  webhook_id: string,
  lock: "" | "for update",
): Promise<StoredWebhook | undefined> {
  const [webhook] = await query<StoredWebhook>(
    `select ${columns} from webhooks where org_id = $1 and webhook_id = $2 ${lock}`,
    [org_id, webhook_id],
  );
  return webhook;
}

export async function countWebhooks(query: Query, org_id: string): Promise<number> {
  const [row] = await query<{ n: number }>("select count(*)::int as n from webhooks where org_id = $1", [org_id]);
  return row?.n ?? 0;
}

export async function escalationExists(query: Query, org_id: string, escalation_id: string): Promise<boolean> {
  const rows = await query("select 1 as one from escalations where org_id = $1 and escalation_id = $2", [
    org_id,
    escalation_id,
  ]);
  return rows.length > 0;
}

/** SQL: the seq of the change's audit record. */
const next_seq = `coalesce(${newestHead("$1", "audit_seq + 1")}, 0)`;

/** Needs the head's lock: the webhook receives events from this seq. */
export async function insertWebhook(
  query: Query,
  webhook: StoredWebhook,
  secret_sealed: string,
  headers_sealed: string | null,
): Promise<void> {
  const { organization_id, id, url, escalation_id, event_types, active, description, created_at, created_by } = webhook;
  await query(
    `insert into webhooks (org_id, webhook_id, url, escalation_id, event_types, secret_sealed, active, description, created_at,
       created_by, modes, membrane_ids, header_names, headers_sealed, alert_after_failures, pause_after_failures, registered_seq)
     values ($1, $2, $3, $4, $5::json, $6, $7::boolean, $8, $9::timestamptz, $10, $11::text[], $12::text[], $13::text[], $14,
       $15::integer, $16::integer, ${next_seq})`,
    [
      organization_id,
      id,
      url,
      escalation_id,
      JSON.stringify(event_types),
      secret_sealed,
      active,
      description,
      created_at,
      created_by,
      ...settingsOf(webhook),
      headers_sealed,
      webhook.alert_after_failures,
      webhook.pause_after_failures,
    ],
  );
}

function settingsOf({ modes, membrane_ids, headers }: StoredWebhook): (readonly string[] | null)[] {
  return [modes, membrane_ids, Object.keys(headers)];
}

/** Needs the head's lock: a webhook that is switched on receives events from now. Switching off or on ends a pause. */
export async function updateWebhook(
  query: Query,
  webhook: StoredWebhook,
  headers_sealed: string | null,
): Promise<void> {
  const { organization_id, id, url, event_types, active, description } = webhook;
  await query(
    `update webhooks set url = $3, event_types = $4::json, active = $5::boolean, description = $6, modes = $7::text[],
       membrane_ids = $8::text[], header_names = $9::text[], headers_sealed = $10, alert_after_failures = $11::integer,
       pause_after_failures = $12::integer,
       paused_at = case when $5::boolean = active then paused_at end,
       failures_in_row = case when $5::boolean = active then failures_in_row else 0 end,
       registered_seq = case when $5::boolean and not active then ${next_seq} else registered_seq end
     where org_id = $1 and webhook_id = $2`,
    [
      ...[organization_id, id, url, JSON.stringify(event_types), active, description],
      ...settingsOf(webhook),
      ...[headers_sealed, webhook.alert_after_failures, webhook.pause_after_failures],
    ],
  );
}

export async function readHeadersSealed(query: Query, org_id: string, webhook_id: string): Promise<string | null> {
  const [row] = await query<{ headers_sealed: string | null }>(
    "select headers_sealed from webhooks where org_id = $1 and webhook_id = $2",
    [org_id, webhook_id],
  );
  return row?.headers_sealed ?? null;
}

/** Makes this secret the only one. */
export async function replaceSecret(
  query: Query,
  { organization_id, id }: Pick<StoredWebhook, "organization_id" | "id">,
  secret_sealed: string,
): Promise<void> {
  await query(
    `update webhooks set secret_sealed = $3, next_secret_sealed = null, overlap_ends_at = null
     where org_id = $1 and webhook_id = $2`,
    [organization_id, id, secret_sealed],
  );
}

/** Adds a secret beside the valid one, which becomes void after `overlap_seconds`. Returns the end of the overlap. */
export async function addNextSecret(
  query: Query,
  { organization_id, id }: Pick<StoredWebhook, "organization_id" | "id">,
  secret_sealed: string,
  overlap_seconds: number,
): Promise<string> {
  const [row] = await query<{ ends_at: string }>(
    `update webhooks set secret_sealed = coalesce(next_secret_sealed, secret_sealed), next_secret_sealed = $3,
       overlap_ends_at = now() + make_interval(secs => $4::integer)
     where org_id = $1 and webhook_id = $2 returning overlap_ends_at as ends_at`,
    [organization_id, id, secret_sealed, overlap_seconds],
  );
  if (row === undefined) throw new Error(`webhook ${id} does not exist`);
  return row.ends_at;
}

export interface Trouble {
  readonly webhook_id: string;
  readonly url: string;
  readonly failures_in_row: number;
  readonly must_pause: boolean;
  readonly must_alert: boolean;
}

/** Returns webhooks that failed as often as their settings permit, and that nobody was mailed about yet. */
export function readTroubles(query: Query, org_id: string): Promise<Trouble[]> {
  return query<Trouble>(
    `select webhook_id, url, failures_in_row, must_pause, must_alert from (
       select webhook_id, url, failures_in_row, paused_at is null and failures_in_row >= coalesce(pause_after_failures, 2147483647) as must_pause,
         alerted_at is null and failures_in_row >= coalesce(alert_after_failures, 2147483647) as must_alert
       from webhooks where org_id = $1 and active) w
     where must_pause or must_alert order by webhook_id`,
    [org_id],
  );
}

/** Needs the head's lock. */
export async function markTrouble(query: Query, org_id: string, { webhook_id, must_pause }: Trouble): Promise<void> {
  await query(
    `update webhooks set alerted_at = now(), paused_at = case when $3::boolean then now() else paused_at end
     where org_id = $1 and webhook_id = $2`,
    [org_id, webhook_id, must_pause],
  );
}

/** Needs the head's lock. */
export async function endPause(query: Query, org_id: string, webhook_id: string): Promise<void> {
  await query(
    `update webhooks set paused_at = null, failures_in_row = 0, alerted_at = null where org_id = $1 and webhook_id = $2`,
    [org_id, webhook_id],
  );
}

export function deleteWebhooks(query: Query, org_id: string, webhook_ids: readonly string[]): Promise<StoredWebhook[]> {
  return query<StoredWebhook>(
    `delete from webhooks where org_id = $1 and webhook_id = any($2::text[]) returning ${columns}`,
    [org_id, webhook_ids],
  );
}

/** Binds the sealed secret to this webhook. */
export function secretContext(org_id: string, webhook_id: string): string {
  return `${org_id} webhooks ${webhook_id} secret`;
}

/** Binds the sealed headers to this webhook. */
export function headersContext(org_id: string, webhook_id: string): string {
  return `${org_id} webhooks ${webhook_id} headers`;
}
