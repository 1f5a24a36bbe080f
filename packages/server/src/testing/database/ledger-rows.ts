import type { Db } from "../../ports.ts";
import type { DecisionEntry } from "../../store/commit/commit-writer-rows.ts";

/** Absent fields get ordinary values. */
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

function recordsOf(row: LedgerDecision | LedgerChange): number {
  if (row.type !== undefined) return 1;
  return 2 + (row.escalation_id === undefined ? 0 : 1) + (row.override_id === undefined ? 0 : 1);
}

/**
 * Appends rows without hashes, and returns each `seq`. Does not change the head. `scattered`: in random order, as if
 * rows of many organizations were mixed.
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

export interface StoredEntry {
  readonly seq: number;
  readonly entry: number;
  readonly decision: DecisionEntry;
}

/** Byte for byte. */
export async function storedDecisions(db: Pick<Db, "system">, org_id: string): Promise<StoredEntry[]> {
  interface Columns extends Omit<DecisionEntry, "salts"> {
    readonly seq: number;
    readonly place: number;
    readonly intent_salt: string;
    readonly facts_salt: string;
    readonly data_salt: string;
  }
  const rows = await db.system((query) =>
    query<Columns>(
      `select seq, entry as place, at, actor, intent_id, decision_id, membrane_id, agent_id, lineage_id, mode, verdict, escalation_id,
         override_id, encode(fingerprint, 'hex') as fingerprint, intent::text, facts::text, data::text as decision,
         encode(intent_salt, 'hex') as intent_salt, encode(facts_salt, 'hex') as facts_salt, encode(data_salt, 'hex') as data_salt,
         encode(hash, 'hex') as hash
       from ledger where org_id = $1 and type = 'decided' order by seq`,
      [org_id],
    ),
  );
  return rows.map(({ seq, place, intent_salt: intent, facts_salt: facts, data_salt: data, ...decision }) => ({
    seq,
    entry: place,
    decision: { ...decision, salts: { intent, facts, data } },
  }));
}
