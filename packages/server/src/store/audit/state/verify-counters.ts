import { isDeepStrictEqual } from "node:util";
import type { Query } from "../../../ports.ts";
import { databaseNow } from "../../rows/database-now.ts";
import { counter_place, type RowState, readCovered } from "./covered-tables.ts";
import type { Difference } from "./differences.ts";

type Row = Readonly<Record<string, unknown>>;

interface Expected {
  /** Undefined: the entry that set the row was erased, so the row can have any values. */
  readonly row: Row | undefined;
  readonly seq: number;
}

/** A change of counts by an entry other than a decision. */
interface Change {
  readonly seq: number;
  readonly counts_of: readonly string[] | null;
  /** Null: the entry adjusts no counter. */
  readonly place: string | null;
  readonly state: readonly RowState[] | null;
}

/** An amount that a decision adds to a counter. */
interface Added extends Row {
  readonly seq: number;
  readonly id: string;
  readonly intent_id: string;
  readonly place: string;
}

const page_rows = 500;

/**
 * Compares what counts with the ledger: with the decision that counted it, or with the later entry that changed it. What
 * has left its window may be deleted.
 */
export async function* verifyCounters(query: Query, org_id: string): AsyncGenerator<Difference> {
  const changes = await readChanges(query, org_id);
  for (let after = ""; ; ) {
    const rows = await readCovered(query, org_id, "counter_entries", after, page_rows);
    const expected = await expectedOf(query, org_id, changes, rows);
    for (const { id, row } of rows) {
      after = id;
      changes.rows.delete(id);
      const wanted = expected.get(id);
      if (wanted === undefined) yield { table: "counter_entries", id, problem: "unknown", columns: [], seq: null };
      else yield* compared(id, row ?? {}, wanted);
    }
    if (rows.length < page_rows) break;
  }
  const now = await databaseNow(query);
  for (const [id, { row, seq }] of changes.rows)
    if (row !== undefined && !isOver(row, now))
      yield { table: "counter_entries", id, problem: "missing", columns: [], seq };
  yield* lost(query, org_id, changes);
}

function* compared(id: string, found: Row, { row, seq }: Expected): Generator<Difference> {
  if (row === undefined) return;
  const columns = Object.keys(row).filter((column) => !isDeepStrictEqual(row[column], found[column]));
  if (columns.length > 0) yield { table: "counter_entries", id, problem: "changed", columns, seq };
}

/** Timestamps of one form have the order of their texts. */
const isOver = ({ ends_at }: Row, now: string): boolean => String(ends_at) <= now;

interface Changes {
  /** By id of the row: as the newest entry left it. */
  readonly rows: Map<string, Expected>;
  /** Actions of which `rows` has everything that counts. */
  readonly intents: ReadonlySet<string>;
  /** By counter and key: `rows` has everything that counts of what decisions before this seq added. */
  readonly adjusted: ReadonlyMap<string, number>;
}

/** Expected rows, by id, action and key of a counter. */
class Rows {
  readonly byId = new Map<string, Expected>();
  readonly #ids = new Map<string, Set<string>>();

  set(id: string, expected: Expected): void {
    this.byId.set(id, expected);
    for (const group of groupsOf(id)) this.#ids.set(group, (this.#ids.get(group) ?? new Set()).add(id));
  }

  /** Forgets the rows of an action, or of a key of a counter. */
  drop(group: string): void {
    for (const id of this.#ids.get(group) ?? []) this.byId.delete(id);
    this.#ids.delete(group);
  }
}

function groupsOf(id: string): [place: string, intent_id: string] {
  const end = id.lastIndexOf(":");
  return [id.slice(0, end), id.slice(end + 1)];
}

async function readChanges(query: Query, org_id: string): Promise<Changes> {
  const rows = new Rows();
  const intents = new Set<string>();
  const adjusted = new Map<string, number>();
  for (let after = 0; ; ) {
    const entries = await query<Change>(
      `select seq, noted -> 'counts_of' as counts_of, case when type = 'counter_adjusted' then noted ->> 'place' end as place,
         noted -> 'state' as state from ledger cross join lateral (select coalesce(data, kept -> 'data') as noted) n
       where org_id = $1 and seq > $2::bigint and type not in ('decided', 'delivered')
         and (noted -> 'counts_of' is not null or type = 'counter_adjusted') order by seq limit ${page_rows}`,
      [org_id, after],
    );
    for (const { seq, counts_of, place, state } of entries) {
      after = seq;
      for (const intent_id of counts_of ?? []) intents.add(intent_id);
      if (place !== null) adjusted.set(place, seq);
      for (const group of [...(counts_of ?? []), ...(place === null ? [] : [place])]) rows.drop(group);
      for (const { table, id, row } of state ?? [])
        if (table === "counter_entries" && row !== null) rows.set(id, { row, seq });
    }
    if (entries.length < page_rows) return { rows: rows.byId, intents, adjusted };
  }
}

async function expectedOf(
  query: Query,
  org_id: string,
  changes: Changes,
  rows: readonly RowState[],
): Promise<Map<string, Expected>> {
  const expected = new Map<string, Expected>();
  const intents = rows.map(({ id }) => groupsOf(id)[1]);
  const added = await query<Added>(`${added_rows} and l.intent_id = any ($2::text[])`, [org_id, intents]);
  for (const each of added) if (counts(changes, each)) expected.set(each.id, asExpected(each));
  for (const { id } of rows) {
    const changed = changes.rows.get(id);
    if (changed !== undefined) expected.set(id, changed);
  }
  return expected;
}

/** Names amounts that decisions added and no later entry changed, but the table lacks. */
async function* lost(query: Query, org_id: string, changes: Changes): AsyncGenerator<Difference> {
  const missing = await query<Added>(
    `select * from (${added_rows}) added where ends_at > now() and not exists (
       select from counter_entries e where e.org_id = $1 and e.intent_id = added.intent_id and ${counter_place} = added.place)`,
    [org_id],
  );
  for (const each of missing)
    if (counts(changes, each))
      yield { table: "counter_entries", id: each.id, problem: "missing", columns: [], seq: each.seq };
}

/** Returns true if no later entry says how the action counts. */
function counts({ intents, adjusted }: Changes, { intent_id, place, seq }: Added): boolean {
  return !intents.has(intent_id) && seq > (adjusted.get(place) ?? 0);
}

function asExpected({ seq, id: _, intent_id: __, place: ___, ...row }: Added): Expected {
  return { row, seq };
}

/** SQL: what decisions added, as rows of `Added`. The columns after `place` are those that are compared. */
const added_rows = `select l.seq, l.intent_id, p.place, p.place || ':' || l.intent_id as id, l.at, a.micros, null::bigint as actions,
    case l.verdict when 'escalate' then 'pending' else l.verdict end as state, a.vals::json as vals, a.ends_at
  from ledger l cross join lateral json_to_recordset(coalesce(l.intent, l.kept -> 'intent') -> 'adds') as a (name text, key_sha text, micros bigint, vals text,
    ends_at timestamptz)
  cross join lateral (select l.mode || ':' || a.name || ':' || a.key_sha as place) p
  where l.org_id = $1 and l.type = 'decided'`;
