import { expect } from "vitest";
import type { Query } from "../ports.ts";
import type { Database } from "../store/database/db.ts";

/** Passwords are hashed before the statement waits. */
const patience = { timeout: 30_000 };

/**
 * SQL for the sessions that wait for a lock on `table`. Limited to this database, because others on the server may use
 * the same numbers.
 */
export const waitingFor = (table: string): string =>
  `select pid from pg_locks where not granted and relation = '${table}'::regclass
   and database = (select oid from pg_database where datname = current_database())`;

/**
 * Begins each of `begun` while another transaction has done `work`, after the previous one waits or is done. That
 * transaction then commits.
 */
export async function meanwhile(
  db: Database,
  work: (query: Query) => Promise<unknown>,
  begun: readonly (() => Promise<unknown>)[],
): Promise<void> {
  const ends: Promise<unknown>[] = [];
  let done = 0;
  await db.system(async (query) => {
    await work(query);
    const waiting =
      "select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0";
    for (const begin of begun) {
      const end = begin();
      const count = (): void => {
        done += 1;
      };
      end.then(count, count);
      ends.push(end);
      await expect.poll(async () => (await db.query(waiting)).length + done, patience).toBe(ends.length);
    }
  });
  await Promise.all(ends);
}
