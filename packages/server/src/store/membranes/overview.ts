import { limits, type Overview } from "@countersign/contract";
import { parseTimestampUs } from "@countersign/core";
import type { Query } from "../../ports.ts";
import type { FiguresWindow } from "../figures/read-figures.ts";
import { clock_slack_ms, firstIdAt } from "../rows/first-id-at.ts";

/**
 * Makes the rest of the transaction use indexes. PostgreSQL underestimates a window's decisions and read those of all
 * organizations: 2.2 s instead of 0.2 s.
 */
export async function readAlongIndexes(query: Query): Promise<void> {
  await query("select set_config(name, 'off', true) from unnest(array['enable_seqscan', 'enable_bitmapscan']) as name");
}

/** Without test mode. */
export async function readQueue(query: Query, org_id: string): Promise<Overview["queue"]> {
  const [queue] = await query<Overview["queue"]>(
    `select count(*)::integer as pending,
       (count(*) filter (where expires_at < clock_timestamp() + interval '${limits.attention_due_minutes} minutes'))::integer as due_soon,
       min(created_at) as oldest_at, min(expires_at) as next_expires_at
     from escalations where org_id = $1 and status = 'pending' and mode = 'live'`,
    [org_id],
  );
  return queue ?? { pending: 0, due_soon: 0, oldest_at: null, next_expires_at: null };
}

/** The newest open reviews whose reviewers are counted, and the newest decided ones whose times are. */
const counted_max = 5_000;
const listed_max = 10;

/** Counts the newest open reviews of live mode by who may decide them. */
export function readAsked(query: Query, org_id: string): Promise<Overview["people"]["asked"]> {
  return query<Overview["people"]["asked"][number]>(
    `select r.reviewer, count(*)::integer as reviews from (
       select facets -> 'reviewers' as reviewers from escalations where org_id = $1 and status = 'pending' and mode = 'live'
       order by escalation_id desc limit ${counted_max}) e
     cross join lateral (
       select concat(r ->> 'type', ':', r ->> 'id') as reviewer from jsonb_array_elements(e.reviewers) r
       union all select null where jsonb_array_length(e.reviewers) = 0) r
     group by 1 order by 2 desc, 1 limit ${listed_max}`,
    [org_id],
  );
}

const share = (part: number) => `round((percentile_cont(${part}) within group (order by seconds))::numeric, 1)::float8`;

/** Counts how long people took for the reviews that were opened in the window, in all and by membrane. */
export async function readAnswerTimes(
  query: Query,
  org_id: string,
  { from, to, membrane_id, modes }: FiguresWindow,
): Promise<Pick<Overview["people"], "answers" | "membranes">> {
  type Row = Overview["people"]["membranes"][number] & { readonly membrane_id: string | null };
  const idAt = (time: string, slack_ms: number) =>
    firstIdAt("escalation", Math.max(0, Math.floor((parseTimestampUs(time) ?? 0) / 1_000) + slack_ms));
  const rows = await query<Row>(
    `with decided as (
       select coalesce(facets ->> 'membrane_id', '') as membrane_id, extract(epoch from closed_at - created_at)::float8 as seconds from escalations
       where org_id = $1 and status = 'decided' and mode = any ($2::text[]) and escalation_id >= $3 and escalation_id < $4
         and created_at >= $5::timestamptz and created_at < $6::timestamptz and closed_at is not null
         and ($7::text is null or facets ->> 'membrane_id' = $7)
       order by escalation_id desc limit ${counted_max + 1})
     select d.*, coalesce(m.name, '') as name from (
       select membrane_id, count(*)::integer as reviews, ${share(0.5)} as median_seconds, ${share(0.9)} as p90_seconds
       from decided group by grouping sets ((membrane_id), ())) d
     left join membranes m on m.org_id = $1 and m.membrane_id = d.membrane_id
     where reviews > 0 and d.membrane_id is distinct from '' order by d.membrane_id is null desc, reviews desc, d.membrane_id limit ${listed_max + 1}`,
    [org_id, modes, idAt(from, -clock_slack_ms), idAt(to, clock_slack_ms), from, to, membrane_id],
  );
  const [all, ...membranes] = rows;
  if (all === undefined) return { answers: null, membranes: [] };
  const { reviews, median_seconds, p90_seconds } = all;
  const at_least = reviews > counted_max;
  return { answers: { reviews: Math.min(reviews, counted_max), median_seconds, p90_seconds, at_least }, membranes };
}
