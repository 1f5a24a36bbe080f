/** Pages of a list whose first page comes from the primary, and whose others may come from a replica. */
import type { Db, Query } from "../../ports.ts";
import { readAuditSeq } from "../../store/organizations/heads.ts";

/**
 * Reads a page. The first page is read on the primary, because people expect to see what they have just done. `seq` is the organization's
 * newest audit record after that; a replica that has it shows nothing older than the first page did.
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
