import type { Db, Query } from "../../ports.ts";
import { CommitLost, isUnanswered } from "../../store/database/connection.ts";

/**
 * Reads an organization, and reads once more if the session was lost during the commit. That is safe, because the commit of
 * a read changes nothing; and hundreds of requests may share the read. It does not repeat a commit that got no answer,
 * because that already took the longest time that a request waits.
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
