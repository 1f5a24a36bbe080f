/** Reads an organization's usage of its plan. The counter is in the head row and changes with each commit. */
import type { Query } from "../../ports.ts";
import { newestHead } from "../rows/newest-head.ts";

/** The usage of one organization in one month. A limit of null means unlimited. */
export interface StoredUsage {
  readonly plan_id: string;
  readonly included_actions: number | null;
  readonly used_actions: number;
  readonly hard_limit: number | null;
  /** Intents in the submission that reached the hard limit. Null: the limit was not reached in this period. */
  readonly batch_size: number | null;
}

/**
 * Returns the live decisions counted in `period` (`YYYY-MM`, UTC). A decision counts in the month of its own time. If
 * that month is already closed, it counts in the open month. Undefined: the organization does not exist.
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
