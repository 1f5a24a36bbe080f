import type { Db, QueueStatement } from "../../ports.ts";

/** Counting stops here, because exact counts would cost too much. */
export const backlog_counted_max = 10_000;

/** Waiting rows of all organizations; each count is at most `backlog_counted_max`. */
export interface Backlog {
  /** Events without deliveries. */
  readonly events: number;
  /** Deliveries with an attempt due, planned or in progress. */
  readonly deliveries: number;
  readonly mails: number;
}

const counted = (rows: string) =>
  `(select count(*)::integer as waiting from (select true from ${rows} limit $1::integer) as counted)`;

/** Settled deliveries are kept for weeks, so the statement must use indexes. */
const statement: QueueStatement = {
  name: "count-backlog",
  text: `select e.waiting as events, d.waiting as deliveries, m.waiting as mails
    from ${counted("events")} e, ${counted("deliveries where status = 'pending'")} d, ${counted("mails")} m`,
};

export async function countBacklog(db: Pick<Db, "queued">): Promise<Backlog> {
  const [backlog] = await db.queued<Backlog>(statement, [backlog_counted_max]);
  if (backlog === undefined) throw new Error("the count returned no row");
  return backlog;
}
