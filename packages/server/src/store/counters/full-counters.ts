import type { Query } from "../../ports.ts";
import { isHead } from "../rows/newest-head.ts";

/**
 * Notes that operators are mailed about full counters. Returns false if they were mailed in the last `pause_s` seconds. The caller holds the
 * lock of the organization's head.
 */
export async function takeFullNotice(query: Query, org_id: string, pause_s: number): Promise<boolean> {
  const taken = await query(
    `update org_heads h set counters_told_at = now()
     where ${isHead("$1")} and (counters_told_at is null or counters_told_at <= now() - make_interval(secs => $2::integer))
     returning true as taken`,
    [org_id, pause_s],
  );
  return taken.length > 0;
}
