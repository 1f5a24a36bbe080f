import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

/** Null: unlimited. */
export interface StoredUsage {
  readonly plan_id: string;
  readonly included_actions: number | null;
  readonly used_actions: number;
  readonly hard_limit: number | null;
  /** Intents in the submission that reached the hard limit. Null: not reached. */
  readonly batch_size: number | null;
}

/**
 * `period` is `YYYY-MM`, UTC. A decision counts in the month of its own time, or in the open month if that one is
 * closed.
 */
export async function readUsage(query: Query, org_id: string, period: string): Promise<StoredUsage | undefined> {
  const [usage] = await query<StoredUsage>(
    `select o.plan_id, o.included_actions, h.hard_limit, case when h.usage_period = $2 then h.usage_met_by end as batch_size,
       case when h.usage_period = $2 then h.usage_used
         else coalesce((select u.used from usage_periods u where u.org_id = h.org_id and u.period = $2), 0) end as used_actions
     from organizations o cross join lateral ${newestHead("o.org_id")} h where o.org_id = $1`,
    [org_id, period],
  );
  return usage;
}

export interface UsedInMonth {
  readonly period: string;
  readonly used: number;
}

/** Returns closed months with live decisions, and the open one, from `first` on, oldest first. */
export function readUsedMonths(query: Query, org_id: string, first: string): Promise<UsedInMonth[]> {
  return query<UsedInMonth>(
    `select u.period, u.used from usage_periods u where u.org_id = $1 and u.period >= $2
     union all
     select h.usage_period, h.usage_used from (select $1 as org_id) o cross join lateral ${newestHead("o.org_id")} h where h.usage_period >= $2
     order by period`,
    [org_id, first],
  );
}
