import { visible } from "./visible.ts";

/** Aligns rows of untrusted texts in columns. Right-aligns the columns in `right`. */
export function formatTable(texts: readonly (readonly string[])[], right: readonly number[] = []): string {
  const rows = texts.map((row) => row.map(visible));
  const widths: number[] = [];
  for (const row of rows) for (const [n, cell] of row.entries()) widths[n] = Math.max(widths[n] ?? 0, cell.length);
  const pad = (cell: string, n: number) =>
    right.includes(n) ? cell.padStart(widths[n] ?? 0) : cell.padEnd(widths[n] ?? 0);
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}
