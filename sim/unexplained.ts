import type { Verified } from "../packages/server/src/operations/audit/verify-organization.ts";

/** Columns that a world changes to let time pass. */
const moved_times: ReadonlySet<string> = new Set(["expires_at", "approval_until", "created_at", "approved_at"]);

/** The record of a review repeats its deadline. */
const isMoved = (column: string, columns: readonly string[]): boolean =>
  moved_times.has(column) || (column === "record_check" && columns.includes("expires_at"));

/** Returns what is wrong with a trail as text, without the times that the world moved. Null: nothing is. */
export function unexplained(verified: Verified): string | null {
  if (verified.sound) return null;
  if (verified.problem !== "differs") return JSON.stringify(verified);
  const wrong = verified.differences.filter(
    ({ columns, problem }) => problem !== "changed" || !columns.every((column) => isMoved(column, columns)),
  );
  return wrong.length === 0 ? null : JSON.stringify(wrong);
}
