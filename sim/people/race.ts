import type { Db, Query } from "../../packages/server/src/ports.ts";
import { lockHead } from "../../packages/server/src/store/organizations/heads.ts";

type Racer = () => Promise<string>;

/**
 * Runs racers that all read before any locks the head. PostgreSQL grants a row lock in order of waiting, so the list's
 * order decides every race. Returns the outcomes.
 */
export async function raceInOrder(db: Db, org_id: string, racers: readonly Racer[]): Promise<string[]> {
  const racing: Promise<string>[] = [];
  const ended: string[] = [];
  await db.tenant(org_id, async (holder) => {
    await lockHead(holder, org_id);
    for (const racer of racers) {
      racing.push(begin(racer, ended));
      const isWaiting = (waiting: number) => waiting + ended.length >= racing.length;
      await untilWaiting(db, holder, isWaiting, ended);
    }
  });
  return Promise.all(racing);
}

export function begin(racer: Racer, ended: string[]): Promise<string> {
  const racing = racer();
  racing.then(
    (outcome) => ended.push(outcome),
    (error) => ended.push(String(error)),
  );
  return racing;
}

/** Waits until enough sessions wait for a lock. `holder` holds the head. */
export async function untilWaiting(
  db: Db,
  holder: Query,
  isEnough: (waiting: number) => boolean,
  ended: readonly string[],
): Promise<void> {
  const until_ms = performance.now() + 60_000;
  while (performance.now() < until_ms) {
    const [locks] = await db.system((query) =>
      query<{ n: number }>(
        // A session that switched roles cannot see wait_event, so use pg_locks.
        `select count(distinct l.pid)::integer as n from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where not l.granted and a.datname = current_database()`,
      ),
    );
    if (isEnough(locks?.n ?? 0)) return;
    // Keeps the session active: one that holds a head and is idle for a second loses it.
    await holder("select 1");
  }
  const sessions = await db.system((query) =>
    query(
      "select application_name, state, wait_event, left(query, 60) as query from pg_stat_activity where datname = current_database()",
    ),
  );
  throw new Error(`the racers do not wait for the head: ${JSON.stringify({ ended, sessions })}`);
}
