/** Turns the rows of an export into the bytes of its file. */
export interface ExportEncoder<Row> {
  head(): Uint8Array;
  rows(page: readonly Row[]): Uint8Array;
  tail(): Uint8Array;
}
