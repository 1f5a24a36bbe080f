/** Rows of the ledger without their hashes, for tests of what is read from it. Rows that are verified come from the commit writer. */
import type { Db } from "../../ports.ts";

/** What a test wants to say about a decision; the rest is ordinary. */
export interface LedgerDecision {
  readonly type?: never;
  readonly intent_id?: string;
  readonly membrane_id?: string;
  readonly agent_id?: string;
  readonly actor?: string;
  readonly lineage_id?: string;
  readonly mode?: "live" | "shadow" | "test";
  readonly verdict?: "approve" | "approve_modified" | "escalate" | "block";
  readonly escalation_id?: string;
  readonly override_id?: string;
  readonly at?: string;
  readonly intent?: unknown;
  readonly facts?: unknown;
  readonly data?: unknown;
}

/** What a test wants to say about a change that is no decision. */
export interface LedgerChange {
  readonly type: string;
  readonly actor?: string;
  readonly intent_id?: string;
  readonly at?: string;
  readonly data?: unknown;
}

const no_hash = `\\x${"00".repeat(32)}`;
const no_salt = `\\x${"00".repeat(16)}`;

const decision = {
  ...{ type: "decided", actor: "key_1", decision_id: "dec", membrane_id: "mem", agent_id: "agent", mode: "live" },
  ...{ verdict: "approve", intent: {}, facts: { origins: [] }, data: {}, intent_salt: no_salt, facts_salt: no_salt },
};

/** Audit records that the row stands for. */
function recordsOf(row: LedgerDecision | LedgerChange): number {
  if (row.type !== undefined) return 1;
  return 2 + (row.escalation_id === undefined ? 0 : 1) + (row.override_id === undefined ? 0 : 1);
}

/**
 * Appends rows to the ledger of an organization, in order; its head stays as it is. Returns the `seq` of each. `scattered`: they are
 * written in no order, as where the rows of many organizations stand between each other.
 */
export async function ledgerRows(
  db: Pick<Db, "system">,
  org_id: string,
  rows: readonly (LedgerDecision | LedgerChange)[],
  { scattered = false } = {},
): Promise<number[]> {
  return db.system(async (query) => {
    const [last] = await query<{ seq: number; entries: number }>(
      "select coalesce(max(seq), 0) as seq, count(*) as entries from ledger where org_id = $1",
      [org_id],
    );
    let [seq, entry] = [last?.seq ?? 0, last?.entries ?? 0];
    const at = new Date().toISOString();
    const stored = rows.map((row) => {
      seq += recordsOf(row);
      const place = String(seq).padStart(26, "0");
      const own =
        row.type === undefined
          ? { ...decision, intent_id: `int_${place}` }
          : { actor: "system", audit_id: `aud_${place}`, data: {} };
      return { org_id, seq, entry: entry++, at, data_salt: no_salt, hash: no_hash, ...own, ...row };
    });
    await query(
      `insert into ledger select * from json_populate_recordset(null::ledger, $1::json)
       ${scattered ? "order by md5(seq::text)" : ""}`,
      [JSON.stringify(stored)],
    );
    return stored.map((row) => row.seq);
  });
}
