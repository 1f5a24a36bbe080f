import type { Overview } from "@countersign/contract";
import type { Filters } from "../../shell/filters.ts";

export type OverviewFilters = Filters<"span" | "mode" | "membrane_id" | "from" | "to">;

/** Returns the address of the decisions that a figure of the overview counts. */
export function rowsBehind(
  { from, to }: Pick<Overview, "from" | "to">,
  { mode = "", membrane_id = "" }: OverviewFilters,
  more: Readonly<Record<string, string>> = {},
): never {
  return { from, to, mode, membrane_id, ...more } as never;
}

/** Returns the change as a text, in percent where the number before is large enough. Empty: nothing to compare. */
export function changeText(now: number, before: number): string {
  const change = now - before;
  if (change === 0) return now === 0 ? "" : "as before";
  const sign = change > 0 ? "+" : "−";
  if (before < 100) return `${sign}${Math.abs(change).toLocaleString("en")}`;
  return `${sign}${Math.round((Math.abs(change) / before) * 100).toLocaleString("en")} %`;
}
