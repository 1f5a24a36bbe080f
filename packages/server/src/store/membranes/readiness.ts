/** SQL for what a membrane showed in shadow, beside its figures. */
import { type HoldLabel, limits, type MembraneReadiness } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { earliestId } from "../intents/intents.ts";
import { firstIdAt } from "../rows/first-id-at.ts";

type FalseHolds = Pick<MembraneReadiness["false_holds"], "population" | "labelled" | "wrong" | "sample">;

/**
 * Reads the labels of the newest holds since `from` (RFC 3339), and the next ones to label. The order is that of a hash of
 * their ids, which nobody chooses, so the labelled ones are a random sample.
 */
export async function readHeldSample(
  query: Query,
  org_id: string,
  membrane_id: string,
  from: string,
): Promise<FalseHolds> {
  const [row] = await query<FalseHolds>(
    `with held as materialized (
       select intent_id, agent_id, verdict, created_at, hashtextextended(intent_id, 0) as place from intents
       where org_id = $1 and membrane_id = $2 and mode = 'shadow' and verdict in ('block', 'escalate')
         and created_at >= $3::timestamptz and intent_id >= $4
       order by intent_id desc limit $5::integer),
     labelled as (select h.*, l.is_right from held h left join hold_labels l on l.org_id = $1 and l.intent_id = h.intent_id),
     next as (select * from labelled where is_right is null order by place, intent_id limit $6::integer)
     select (select count(*)::integer from labelled) as population,
       (select count(is_right)::integer from labelled) as labelled,
       (select count(*)::integer from labelled where not is_right) as wrong,
       (select coalesce(json_agg(json_build_object('intent_id', n.intent_id, 'agent_id', n.agent_id, 'verdict', n.verdict,
           'at', to_char(n.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'verb', i.intent #>> '{submitted,action,verb}',
           'rules', (select coalesce(json_agg(r ->> 'policy'), '[]') from json_array_elements(i.decision -> 'reasons') r
             where r ->> 'effect' in ('block', 'escalate'))) order by n.place), '[]')
         from next n join intents i on i.org_id = $1 and i.intent_id = n.intent_id) as sample`,
    [
      org_id,
      membrane_id,
      from,
      earliestId({ from, membrane_id }),
      limits.readiness_holds_max,
      limits.readiness_sample_max,
    ],
  );
  if (row === undefined) throw new Error("a query without a table returned no row");
  return row;
}

/** The membrane of a hold in shadow; null: the intent was not held, or not in shadow. Undefined: no such intent. */
export async function readHold(
  query: Query,
  org_id: string,
  intent_id: string,
): Promise<{ readonly membrane_id: string | null } | undefined> {
  const [row] = await query<{ membrane_id: string | null }>(
    `select case when mode = 'shadow' and verdict in ('block', 'escalate') then membrane_id end as membrane_id from intents
     where org_id = $1 and intent_id = $2`,
    [org_id, intent_id],
  );
  return row;
}

export async function writeLabel(query: Query, org_id: string, label: HoldLabel): Promise<void> {
  await query(
    `insert into hold_labels (org_id, intent_id, membrane_id, is_right, labelled_by, labelled_at)
     values ($1, $2, $3, $4::boolean, $5, $6::timestamptz)
     on conflict (org_id, intent_id) do update
       set is_right = excluded.is_right, labelled_by = excluded.labelled_by, labelled_at = excluded.labelled_at`,
    [org_id, label.intent_id, label.membrane_id, label.is_right, label.labelled_by, label.labelled_at],
  );
}

/** `failing`: webhooks that are on, with deliveries that failed in the last 24 hours. */
export async function readWebhookHealth(
  query: Query,
  org_id: string,
  now_ms: number,
): Promise<MembraneReadiness["webhooks"]> {
  const [row] = await query<MembraneReadiness["webhooks"]>(
    `select (select count(*)::integer from webhooks where org_id = $1 and active) as active,
       (select coalesce(json_agg(f), '[]') from (
         select d.webhook_id, count(*)::integer as failed from deliveries d
         join webhooks w on w.org_id = $1 and w.webhook_id = d.webhook_id and w.active
         where d.org_id = $1 and d.status = 'failed' and d.delivery_id >= $2
         group by 1 order by 2 desc, 1 limit $3::integer) f) as failing`,
    [org_id, firstIdAt("delivery", now_ms - day_ms), limits.readiness_listed_max],
  );
  if (row === undefined) throw new Error("a query without a table returned no row");
  return row;
}

const day_ms = 86_400_000;

/** Registered agents without an action since `from`. */
export async function readIdleAgents(query: Query, org_id: string, from: string): Promise<string[]> {
  const rows = await query<{ agent_id: string }>(
    `select agent_id from agents where org_id = $1 and (last_seen_at is null or last_seen_at < $2::timestamptz)
     order by subject limit $3::integer`,
    [org_id, from, limits.readiness_listed_max],
  );
  return rows.map(({ agent_id }) => agent_id);
}

/** System scope: true if a mail that could not be sent at once has waited for ten minutes. */
export async function areMailsDelayed(query: Query): Promise<boolean> {
  const [row] = await query<{ delayed: boolean }>(
    "select exists (select from mails where attempts > 0 and created_at < now() - interval '10 minutes') as delayed",
  );
  return row?.delayed ?? false;
}
