import { isDeepStrictEqual } from "node:util";
import type { Query } from "../../../ports.ts";
import { type CoveredTable, coveredTables, type RowState, readCovered } from "./covered-tables.ts";
import type { Difference } from "./differences.ts";

interface Expected {
  /** Null: the row was deleted. Undefined: the entry that set the row was erased, so the row can have any values. */
  readonly row: RowState["row"] | undefined;
  readonly seq: number;
}

const page_rows = 500;

/** Rebuilds the covered rows from the ledger and compares them with the tables. Locks nothing. */
export async function* verifyState(query: Query, org_id: string): AsyncGenerator<Difference> {
  const refused: Difference[] = [];
  const expected = await rebuilt(query, org_id, refused);
  yield* refused;
  await spendOverrides(query, org_id, expected);
  for (const table of Object.keys(coveredTables) as CoveredTable[]) {
    if (table === "counter_entries") continue;
    const left = new Map(expected.get(table));
    for await (const found of storedRows(query, org_id, table)) {
      const wanted = left.get(found.id);
      left.delete(found.id);
      const difference = compared(found, wanted);
      if (difference !== null) yield difference;
    }
    for (const [id, { row, seq }] of left) if (row != null) yield { table, id, problem: "missing", columns: [], seq };
  }
}

function compared({ table, id, row }: RowState, wanted: Expected | undefined): Difference | null {
  if (wanted === undefined && coveredTables[table].begins_with_decision === true) return null;
  if (wanted === undefined || wanted.row === null)
    return { table, id, problem: "unknown", columns: [], seq: wanted?.seq ?? null };
  const expected = wanted.row;
  if (expected === undefined) return null;
  const columns = Object.keys(expected).filter((column) => !isDeepStrictEqual(expected[column], row?.[column]));
  return columns.length === 0 ? null : { table, id, problem: "changed", columns, seq: wanted.seq };
}

type Rows = Map<CoveredTable, Map<string, Expected>>;

interface StateEntry {
  readonly seq: number;
  readonly type: string;
  readonly state: readonly RowState[];
}

/** Returns the newest state of each row. Adds to `refused` the entries that may not set states. */
async function rebuilt(query: Query, org_id: string, refused: Difference[]): Promise<Rows> {
  const rows: Rows = new Map();
  const mayRecord = onceRecorded();
  for (let after = 0; ; ) {
    const entries = await query<StateEntry>(
      `select seq, type, coalesce(data, kept -> 'data') -> 'state' as state from ledger
       where org_id = $1 and seq > $2::bigint and type not in ('decided', 'delivered')
         and coalesce(data, kept -> 'data') -> 'state' is not null
       order by seq limit ${page_rows}`,
      [org_id, after],
    );
    for (const entry of entries) {
      const { seq, state } = entry;
      after = seq;
      if (!mayRecord(entry)) {
        refused.push({ table: "ledger", id: `${seq}`, problem: "unknown", columns: [], seq });
        continue;
      }
      for (const { table, id, row } of state) {
        const known = rows.get(table) ?? new Map<string, Expected>();
        rows.set(table, known.set(id, { row, seq }));
        if (table === "people" && row === null) deletePasskeys(rows, id, seq);
      }
    }
    if (entries.length < page_rows) return rows;
  }
}

/**
 * The service writes rows of an earlier version down in one run of entries. Later, or in an organization of this
 * version, somebody could use such an entry to hide a change.
 */
function onceRecorded(): (entry: StateEntry) => boolean {
  let run_seq: number | null = null;
  let is_new = false;
  return ({ seq, type }) => {
    if (type === "organization_created") is_new = true;
    if (type !== "state_recorded") return true;
    if (is_new || (run_seq !== null && seq !== run_seq + 1)) return false;
    run_seq = seq;
    return true;
  };
}

/** The passkeys of a person are deleted with the person. */
function deletePasskeys(rows: Rows, user_id: string, seq: number): void {
  const passkeys = rows.get("passkeys") ?? new Map<string, Expected>();
  for (const [id, { row }] of passkeys) if (row?.["user_id"] === user_id) passkeys.set(id, { row: null, seq });
}

/** The entry of a decision spends an override, and has no state. */
async function spendOverrides(query: Query, org_id: string, expected: Rows): Promise<void> {
  const overrides = expected.get("overrides");
  if (overrides === undefined) return;
  const spent = await query<{ seq: number; override_id: string; intent_id: string }>(
    `select seq, override_id, intent_id from ledger
     where org_id = $1 and type = 'decided' and override_id is not null and (escalation_id is not null or override_id is not null)`,
    [org_id],
  );
  for (const { seq, override_id, intent_id } of spent) {
    const known = overrides.get(override_id);
    if (known?.row == null) continue;
    overrides.set(override_id, { seq, row: { ...known.row, status: "consumed", consumed_by: intent_id } });
  }
}

async function* storedRows(query: Query, org_id: string, table: CoveredTable): AsyncGenerator<RowState> {
  for (let after = ""; ; ) {
    const rows = await readCovered(query, org_id, table, after, page_rows);
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < page_rows) return;
    after = last.id;
  }
}
