import type { Query } from "../../ports.ts";
import { byOrganization } from "../rows/by-organization.ts";

export interface HealthRow {
  readonly webhook_id: string;
  readonly since: string;
  readonly attempts: number;
  readonly accepted: number;
  readonly durations: readonly number[];
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
  readonly failures_in_row: number;
}

/** Hours for which health is kept: those of `limits.webhook_health_hours_max`. */
const kept = "now() - interval '30 days'";

/** Returns a row for each webhook, newest first. Reads at most one row for each hour of 30 days. */
export function readHealth(query: Query, org_id: string, hours: number): Promise<HealthRow[]> {
  return query<HealthRow>(
    `select w.webhook_id, s.since, coalesce(h.attempts, 0)::float8 as attempts, coalesce(h.accepted, 0)::float8 as accepted,
       coalesce(b.durations, '{}') as durations, h.last_success_at, h.last_failure_at, w.failures_in_row
     from webhooks w
     cross join (select date_trunc('hour', now(), 'UTC') - make_interval(hours => $2::integer - 1) as since) s
     left join lateral (
       select sum(e.attempts) filter (where e.hour >= s.since) as attempts, sum(e.accepted) filter (where e.hour >= s.since) as accepted,
         max(e.last_success_at) as last_success_at, max(e.last_failure_at) as last_failure_at
       from webhook_health e where e.org_id = $1 and e.webhook_id = w.webhook_id and e.hour >= ${kept}) h on true
     left join lateral (
       select array_agg(d.total order by d.n) as durations from (
         select u.n, sum(u.count)::float8 as total
         from webhook_health e, unnest(e.durations) with ordinality as u(count, n)
         where e.org_id = $1 and e.webhook_id = w.webhook_id and e.hour >= s.since group by u.n) d) b on true
     where w.org_id = $1 order by w.webhook_id desc`,
    [org_id, hours],
  );
}

/** Reads up to `rows` hours that are too old to show, and deletes those of the same webhooks. System scope. */
export async function deleteOldHealth(query: Query, rows: number): Promise<number> {
  const old = await query<{ org_id: string; webhook_id: string }>(
    `select org_id, webhook_id from webhook_health where hour < ${kept} limit $1::integer`,
    [rows],
  );
  let count = 0;
  for (const [org_id, webhooks] of byOrganization(old)) {
    const deleted = await query(
      `delete from webhook_health where org_id = $1 and webhook_id = any($2::text[]) and hour < ${kept} returning true as deleted`,
      [org_id, webhooks.map(({ webhook_id }) => webhook_id)],
    );
    count += deleted.length;
  }
  return count;
}
