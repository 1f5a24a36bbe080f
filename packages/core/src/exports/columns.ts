/** A cell of a flat export. Null: empty. Times are RFC 3339 UTC. */
export type Cell = string | number | boolean | null;

export interface Column<Row> {
  readonly name: string;
  readonly type: "text" | "number" | "integer" | "time" | "boolean";
  readonly of: (row: Row) => Cell | undefined;
}

/** Joins several values for one cell. */
export const joined = (values: readonly string[]): string | null => (values.length === 0 ? null : values.join("; "));
