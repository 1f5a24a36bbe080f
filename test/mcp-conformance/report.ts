/** Prints what the suite found. */
import { isFault, type Row } from "./outcomes.ts";

const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
};

/** Returns the place of the first difference, and both values there. */
function firstDifference(left: unknown, right: unknown, path = ""): string {
  const are_objects = typeof left === "object" && typeof right === "object" && left !== null && right !== null;
  if (!are_objects || Array.isArray(left) !== Array.isArray(right))
    return `${path || "/"}\n    direct:   ${shown(left)}\n    governed: ${shown(right)}`;
  const [before, after] = [left as Record<string, unknown>, right as Record<string, unknown>];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const at = names.find((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return at === undefined ? path : firstDifference(before[at], after[at], `${path}/${at}`);
}

function verdict(row: Row): string {
  if (isFault(row)) return row.equal ? "YES, but it should differ" : "NO";
  return row.equal ? "yes" : "no: governance answers";
}

export function table(rows: readonly Row[]): string {
  const cells = [
    ["scenario", "direct", "governed", "equal"],
    ...rows.map((row) => [row.scenario, row.direct, row.governed, verdict(row)]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells.map((line) => line.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("  ")).join("\n");
}

export interface Sum {
  readonly pair: string;
  readonly scenarios: number;
  readonly equal: number;
  /** Where governance answers. */
  readonly answered: number;
  readonly faults: number;
}

/** The content of `results.json`, which `--write` records for the documentation. */
export interface Results {
  readonly versions: Readonly<Record<string, string>>;
  readonly sums: readonly Omit<Sum, "faults">[];
}

export function sums(rows: readonly Row[]): Sum[] {
  const named = [...new Set(rows.map(({ pair }) => pair))].map(
    (pair) => [pair, rows.filter((row) => row.pair === pair)] as const,
  );
  return named.map(([pair, all]) => ({
    pair,
    scenarios: all.length,
    equal: all.filter(({ equal }) => equal).length,
    answered: all.filter((row) => !row.equal && !isFault(row)).length,
    faults: all.filter(isFault).length,
  }));
}

export function faults(rows: readonly Row[]): string {
  return rows
    .filter(isFault)
    .map(({ pair, scenario, direct, governed, seen }) => {
      const where =
        direct === governed ? firstDifference(...seen) : firstDifference([direct, seen[0]], [governed, seen[1]]);
      return `── ${pair} > ${scenario}\n  ${where}\n    seen: ${shown(seen[1])}`;
    })
    .join("\n");
}
