import { type EventType, secret_mask, type Webhook } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

/** `secret` is the mask that answers show. */
export type StoredWebhook = Omit<Webhook, "event_types"> & { readonly event_types: readonly EventType[] };

const columns = `webhook_id as id, created_at, url, org_id as organization_id, escalation_id, event_types,
  '${secret_mask}' as secret, active, description, created_by`;

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
export async function insertWebhook(query: Query, webhook: StoredWebhook, secret_sealed: string): Promise<void> {
  const { organization_id, id, url, escalation_id, event_types, active, description, created_at, created_by } = webhook;
  await query(
    `insert into webhooks (org_id, webhook_id, url, escalation_id, event_types, secret_sealed, active, description, created_at,
       created_by, registered_seq)
     values ($1, $2, $3, $4, $5::json, $6, $7::boolean, $8, $9::timestamptz, $10, ${next_seq})`,
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
    ],
  );
}

/** Needs the head's lock: a webhook that is switched on receives events from now. */
export async function updateWebhook(query: Query, webhook: StoredWebhook): Promise<void> {
  const { organization_id, id, url, event_types, active, description } = webhook;
  await query(
    `update webhooks set url = $3, event_types = $4::json, active = $5::boolean, description = $6,
       registered_seq = case when $5::boolean and not active then ${next_seq} else registered_seq end
     where org_id = $1 and webhook_id = $2`,
    [organization_id, id, url, JSON.stringify(event_types), active, description],
  );
}

export async function updateWebhookSecret(
  query: Query,
  { organization_id, id }: Pick<StoredWebhook, "organization_id" | "id">,
  secret_sealed: string,
): Promise<void> {
  await query("update webhooks set secret_sealed = $3 where org_id = $1 and webhook_id = $2", [
    organization_id,
    id,
    secret_sealed,
  ]);
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
