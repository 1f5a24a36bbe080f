/**
 * How a statement finds the head of an organization: by the newest end of its index (decision 0025). `where org_id = …` alone
 * walks all versions of the row that any transaction may still see; decision 0025 has the figures.
 */

/** SQL: the head of an organization, for a `from` or a subquery; `org_id` is SQL, too. */
export const newestHead = (org_id: string, columns = "*", lock: "" | "for update" = ""): string =>
  `(select ${columns} from org_heads where org_id = ${org_id} order by audit_seq desc limit 1 ${lock})`;

/**
 * SQL, for a statement that changes the head `h` which it locks itself: the version that its snapshot sees and those after it. The
 * sequence that it read under the lock is no way to find it: what was committed while it waited is not in its snapshot.
 */
export const isHead = (org_id: string): string =>
  `h.org_id = ${org_id} and h.audit_seq >= ${newestHead(org_id, "audit_seq")}`;
