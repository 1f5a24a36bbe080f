import type { Instance } from "@countersign/server";
import { type Finding, note } from "./finding.ts";

/** Beyond this many uncounted entries, the overview reports itself as incomplete. */
const behind_max = 40_000;

export async function checkFigures(instance: Instance): Promise<Finding[]> {
  const behind = (await instance.figures.progress()).filter(
    ({ as_of, head }) => head - Math.max(0, as_of) > behind_max,
  );
  if (behind.length === 0) return [];
  const are = behind.length === 1 ? "1 organization are" : `${behind.length} organizations are`;
  const text = `the figures of ${are} more than ${behind_max.toLocaleString("en-US")} entries behind, so their overview is not complete`;
  return [
    note("figures", text, "let the service run, or run countersign figures rebuild (countersign figures status)"),
  ];
}
