import { canonicalJson, changeHash } from "@countersign/core";
import type { Query } from "../../../ports.ts";
import type { AuditRow } from "../audit.ts";
import { lookUp, type RowState, type RowsOfEntry, rowsOfEntry } from "./covered-tables.ts";

/**
 * Adds `state` to the data of entries that changed covered rows: the rows as they are now. Call it after the rows are
 * written. If several entries of a commit changed a row, the last one has its state.
 */
export async function withState(query: Query, org_id: string, entries: readonly AuditRow[]): Promise<AuditRow[]> {
  const read = entries.map((entry) => ({ entry, data: JSON.parse(entry.data) as Readonly<Record<string, unknown>> }));
  const changed = read.map(({ entry, data }) => rowsOfEntry(entry.type, data, entry.intent_id));
  const found = await foundRows(query, org_id, changed.flat());
  const seen = new Set<string>();
  return read
    .map(({ entry, data }, at) => ({ entry, data, rows: changed[at] ?? [] }))
    .reverse()
    .map(({ entry, data, rows }) => {
      const state = rows.flatMap((each) => statesOf(each, found)).filter((each) => isFirst(seen, each));
      return state.length === 0 ? entry : withData(entry, canonicalJson({ ...data, state }));
    })
    .reverse();
}

type Found = ReadonlyMap<string, ReadonlyMap<string, RowState[]>>;

const placeOf = ({ table, by }: RowsOfEntry): string => `${table} ${by}`;

async function foundRows(query: Query, org_id: string, changed: readonly RowsOfEntry[]): Promise<Found> {
  const wanted = new Map<string, RowsOfEntry[]>();
  for (const rows of changed) wanted.set(placeOf(rows), [...(wanted.get(placeOf(rows)) ?? []), rows]);
  const found = new Map<string, Map<string, RowState[]>>();
  for (const [place, rows] of wanted) {
    const values = rows.map(({ value }) => value);
    found.set(place, await lookUp(query, org_id, rows[0] as RowsOfEntry, values));
  }
  return found;
}

function statesOf(rows: RowsOfEntry, found: Found): RowState[] {
  const { table, value, deleted } = rows;
  const states = found.get(placeOf(rows))?.get(value) ?? [];
  return states.length === 0 && deleted !== null ? [{ table, id: deleted, row: null }] : states;
}

function isFirst(seen: Set<string>, { table, id }: RowState): boolean {
  const name = `${table} ${id}`;
  if (seen.has(name)) return false;
  seen.add(name);
  return true;
}

function withData(entry: AuditRow, data: string): AuditRow {
  return { ...entry, data, hash: changeHash(entry, data, entry.salt) };
}
