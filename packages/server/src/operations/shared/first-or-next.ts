import type { Db, Query } from "../../ports.ts";
import { readAuditSeq } from "../../store/organizations/heads.ts";

/**
 * Reads the first page from the primary, so that it shows the reader's own changes, and others from a replica. `seq` is
 * the newest audit record of the first page; a replica that has it shows nothing older.
 */
export async function readFirstOrNext<T>(
  db: Pick<Db, "tenant" | "reading">,
  org_id: string,
  since: { readonly seq: number } | null,
  work: (query: Query) => Promise<T>,
): Promise<{ readonly found: T; readonly seq: number }> {
  if (since !== null) return { found: await db.reading(org_id, { seq: since.seq }, work), seq: since.seq };
  return db.tenant(org_id, async (query) => ({ found: await work(query), seq: await readAuditSeq(query, org_id) }));
}
