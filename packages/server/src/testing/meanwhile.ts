/** Statements that meet in the database: what one finds after it has waited for another. */
import { expect } from "vitest";
import type { Query } from "../ports.ts";
import type { Database } from "../store/database/db.ts";

/** Passwords are hashed before anything waits. */
const patience = { timeout: 30_000 };

/**
 * The sessions that wait for a lock on `table`, as SQL: of this database only, since the databases of other files are on the same
 * server and may have given their tables the same numbers. Every role sees locks; what another role's session waits for it
 * does not.
 */
export const waitingFor = (table: string): string =>
  `select pid from pg_locks where not granted and relation = '${table}'::regclass
   and database = (select oid from pg_database where datname = current_database())`;

/**
 * Begins all of `begun` while another transaction has done `work`, each once the one before waits or is done; resolves when all
 * are done after that one has committed. Whoever waits for the same row gets it in this order.
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
