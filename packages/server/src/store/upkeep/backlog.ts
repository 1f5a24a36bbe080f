/** SQL that tells how much waits, for who watches the service. */
import type { Db, QueueStatement } from "../../ports.ts";

/** Nobody needs to know more exactly, and counting must not become work of its own. */
export const backlog_counted_max = 10_000;

/** How many rows wait in all organizations; each up to `backlog_counted_max`. */
export interface Backlog {
  /** Events that were not made into deliveries yet. */
  readonly events: number;
  /** Deliveries to be attempted now or later, and those whose attempt is under way. */
  readonly deliveries: number;
  readonly mails: number;
}

const counted = (rows: string) =>
  `(select count(*)::integer as waiting from (select true from ${rows} limit $1::integer) as counted)`;

/** Along the indexes, whatever the statistics say: settled deliveries stay for weeks. */
const statement: QueueStatement = {
  name: "count-backlog",
  text: `select e.waiting as events, d.waiting as deliveries, m.waiting as mails
    from ${counted("events")} e, ${counted("deliveries where status = 'pending'")} d, ${counted("mails")} m`,
};

/** Counts them. */
export async function countBacklog(db: Pick<Db, "queued">): Promise<Backlog> {
  const [backlog] = await db.queued<Backlog>(statement, [backlog_counted_max]);
  if (backlog === undefined) throw new Error("a count came without a row");
  return backlog;
}
