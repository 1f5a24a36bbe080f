/**
 * Finds the head at the newest end of its index. `where org_id = …` alone reads all versions that a transaction may
 * still see (decision 0025).
 */

/** SQL for a `from` or a subquery. `org_id` is SQL, too. */
export const newestHead = (org_id: string, columns = "*", lock: "" | "for update" = ""): string =>
  `(select ${columns} from org_heads where org_id = ${org_id} order by audit_seq desc limit 1 ${lock})`;

/**
 * SQL condition of a statement that changes the locked head `h`. Includes versions that were committed while it waited.
 */
export const isHead = (org_id: string): string =>
  `h.org_id = ${org_id} and h.audit_seq >= ${newestHead(org_id, "audit_seq")}`;
