/** SQL for what needs a person now. Reviews of test mode are excluded. */
import { type AttentionItem, limits } from "@countersign/contract";
import type { Query } from "../../ports.ts";
import { firstIdAt } from "../rows/first-id-at.ts";

type Counted = Pick<AttentionItem, "since" | "what"> & { readonly count: number };

interface CountedReviews extends Counted {
  readonly kind: "missing_fact" | "uncovered_tool";
  /** The first to end. */
  readonly escalation_id: string;
  readonly membrane_id: string;
  readonly rules: AttentionItem["rules"];
}

export interface OpenReviews {
  readonly causes: readonly CountedReviews[];
  /** How many open reviews wait for each rule, by its name. */
  readonly by_rule: readonly { readonly policy: string; readonly count: number; readonly since: string }[];
  readonly due: { readonly count: number; readonly since: string; readonly escalation_id: string } | null;
}

/**
 * Counts all open reviews by their cause. Reviews with equal facets are counted first, so the JSON of each kind is read once
 * (docs/decisions/0055-the-review-queue.md).
 */
export async function readOpenReviews(query: Query, org_id: string): Promise<OpenReviews> {
  const [row] = await query<OpenReviews>(
    `with kinds as materialized (
       select facets, count(*)::integer as count, min(created_at) as since, min(expires_at) as ends
       from escalations where org_id = $1 and status = 'pending' and mode = 'live' and facets is not null group by facets),
     causes as materialized (
       select 'missing_fact' as kind, fact as what, k.* from kinds k, jsonb_array_elements_text(facets -> 'missing_facts') fact
       union all select 'uncovered_tool', facets ->> 'uncovered', k.* from kinds k where facets ->> 'uncovered' is not null),
     counted as (
       select kind, what, sum(count)::integer as count, min(since) as since, min(ends) as ends,
         (array_agg(facets order by ends))[1] as facets, row_number() over (partition by kind order by sum(count) desc, what) as place
       from causes group by kind, what),
     named as materialized (
       select policy, facets -> 'waits_for_ids' ->> n::integer - 1 as policy_id, k.*
       from kinds k, jsonb_array_elements_text(facets -> 'waits_for') with ordinality w(policy, n)),
     waiting as (
       select distinct fact as what, policy_id, policy from named, jsonb_array_elements_text(facets -> 'missing_facts') fact)
     select (select coalesce(json_agg(json_build_object('kind', kind, 'what', what, 'count', count, 'since', ${isoText("since")},
           'escalation_id', (select min(e.escalation_id) from escalations e where e.org_id = $1 and e.status = 'pending'
             and e.mode = 'live' and e.expires_at = c.ends and e.facets = c.facets),
           'membrane_id', facets ->> 'membrane_id',
           'rules', (select coalesce(json_agg(json_build_object('policy_id', w.policy_id, 'policy', w.policy) order by w.policy), '[]')
             from (select * from waiting where what = c.what and c.kind = 'missing_fact' order by policy limit $3::integer) w))
           order by kind, place), '[]')
         from counted c where place <= $2::integer) as causes,
       (select coalesce(json_agg(json_build_object('policy', policy, 'count', count, 'since', ${isoText("since")})), '[]') from (
         select policy, sum(count)::integer as count, min(since) as since from named group by policy) r) as by_rule,
       (select json_build_object('count', count(*)::integer, 'since', ${isoText("min(created_at)")},
           'escalation_id', (array_agg(escalation_id order by expires_at, escalation_id))[1])
         from escalations where org_id = $1 and status = 'pending' and mode = 'live'
           and expires_at <= clock_timestamp() + make_interval(mins => $4::integer) having count(*) > 0) as due`,
    [org_id, limits.attention_items_per_kind_max, limits.attention_rules_max, limits.attention_due_minutes],
  );
  if (row === undefined) throw new Error("a query without a table returned no row");
  return row;
}

function isoText(time: string): string {
  return `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

export interface Executed extends Counted {
  readonly agent_id: string;
  readonly intent_id: string;
}

/** Counts reports of actions without approval since `from` (RFC 3339), by agent. */
export function readExecuted(query: Query, org_id: string, from: string): Promise<Executed[]> {
  return query<Executed>(
    `select i.agent_id, i.agent_id as what, count(*)::integer as count, min(c.at) as since,
       (array_agg(c.intent_id order by c.seq desc))[1] as intent_id
     from (select seq, at, intent_id from ledger
       where org_id = $1 and type = 'contradicted' and at >= $2::timestamptz and coalesce(data, kept -> 'data') ->> 'mode' = 'live'
       order by seq desc limit $3::integer) c
     join ledger i on i.org_id = $1 and i.type = 'decided' and i.intent_id = c.intent_id
     group by i.agent_id order by count desc, i.agent_id limit $4::integer`,
    [org_id, from, limits.counted_contradictions_max, limits.attention_items_per_kind_max],
  );
}

export interface FailingWebhook extends Counted {
  readonly webhook_id: string;
}

/** Failed deliveries of the last 24 hours, of webhooks that are on. */
export function readFailingWebhooks(query: Query, org_id: string, now_ms: number): Promise<FailingWebhook[]> {
  return query<FailingWebhook>(
    `select w.webhook_id, w.url as what, count(*)::integer as count, min(d.created_at) as since
     from deliveries d join webhooks w on w.org_id = $1 and w.webhook_id = d.webhook_id and w.active
     where d.org_id = $1 and d.status = 'failed' and d.delivery_id >= $2
     group by w.webhook_id, w.url order by count desc, w.webhook_id limit $3::integer`,
    [org_id, firstIdAt("delivery", now_ms - 86_400_000), limits.attention_items_per_kind_max],
  );
}
