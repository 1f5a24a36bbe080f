/** Writes CSV after RFC 4180: UTF-8, CRLF, cells in quotes where needed. */
import type { Cell, Column } from "./columns.ts";

/**
 * The first characters of a text that make a spreadsheet run it as a formula. The last four are full-width forms, which
 * some spreadsheets read as the plain ones.
 */
const formula = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

/** Returns the first line, with the names of the columns. */
export function csvHead(columns: readonly Column<never>[]): string {
  return `${columns.map(({ name }) => name).join(",")}\r\n`;
}

/** Returns the line of one row. Only texts can be formulas, so numbers stay numbers. */
export function csvLine<Row>(columns: readonly Column<Row>[], row: Row): string {
  return `${columns.map((column) => csvCell(column.of(row) ?? null)).join(",")}\r\n`;
}

/** An apostrophe before a text makes a spreadsheet show it instead of running it. */
function csvCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const text = formula.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
