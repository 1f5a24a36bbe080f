/** SQL that counts waiting work, for the service's metrics. */
import type { Db, QueueStatement } from "../../ports.ts";

/** Counting stops at this number, because a more exact count is not needed and would cost too much. */
export const backlog_counted_max = 10_000;

/** The rows that wait in all organizations. Each number is at most `backlog_counted_max`. */
export interface Backlog {
  /** Events that have no deliveries yet. */
  readonly events: number;
  /** Deliveries with an attempt due now or later, or in progress. */
  readonly deliveries: number;
  readonly mails: number;
}

const counted = (rows: string) =>
  `(select count(*)::integer as waiting from (select true from ${rows} limit $1::integer) as counted)`;

/** Uses the indexes regardless of the statistics, because settled deliveries are kept for weeks. */
const statement: QueueStatement = {
  name: "count-backlog",
  text: `select e.waiting as events, d.waiting as deliveries, m.waiting as mails
    from ${counted("events")} e, ${counted("deliveries where status = 'pending'")} d, ${counted("mails")} m`,
};

/** Counts the waiting work. */
export async function countBacklog(db: Pick<Db, "queued">): Promise<Backlog> {
  const [backlog] = await db.queued<Backlog>(statement, [backlog_counted_max]);
  if (backlog === undefined) throw new Error("a count came without a row");
  return backlog;
}
