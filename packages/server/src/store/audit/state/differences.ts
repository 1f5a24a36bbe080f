/** A row that is not as the ledger says. */
export interface Difference {
  readonly table: string;
  readonly id: string;
  /** `missing`: the ledger has the row and the table does not. `unknown`: the table has a row that no entry made. */
  readonly problem: "changed" | "missing" | "unknown";
  /** The columns that differ. Empty if the row is missing or unknown. */
  readonly columns: readonly string[];
  /** The audit record that last set the row. Null: no entry did. */
  readonly seq: number | null;
}
