import type { Db, Query } from "../../ports.ts";
import { CommitLost, isUnanswered } from "../../store/database/connection.ts";

/**
 * Reads an organization, and repeats once if the session was lost during the commit of the read. Does not repeat a
 * commit without an answer, because that already took the longest time that a request waits.
 */
export async function readAgain<T>(
  db: Pick<Db, "tenant">,
  org_id: string,
  read: (query: Query) => Promise<T>,
): Promise<T> {
  try {
    return await db.tenant(org_id, read);
  } catch (error) {
    if (error instanceof CommitLost && !isUnanswered(error.cause)) return db.tenant(org_id, read);
    throw error;
  }
}
