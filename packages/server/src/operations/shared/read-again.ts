import type { Db, Query } from "../../ports.ts";
import { CommitLost, isUnanswered } from "../../store/database/connection.ts";

/**
 * A read of an organization, made once more where its session was lost with its commit: how a commit of nothing ended does not matter, and hundreds of
 * requests may share the read. Not where the commit got no answer: it was waited for as long as anybody waits.
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
