import { diffLines } from "diff";
import { useMemo } from "react";
import type { JsonLine } from "../parts/records/json-lines.ts";
import { FoldedLines } from "../parts/records/json-view.tsx";

/** The difference of two texts, line by line. */
export function TextDiff({
  before,
  after,
  label,
}: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  const all = useMemo(() => linesBetween(before, after), [before, after]);
  return <FoldedLines all={all} label={label} />;
}

function linesBetween(before: string, after: string): JsonLine[] {
  return diffLines(before, after).flatMap(({ value, added, removed }) =>
    value
      .replace(/\n$/, "")
      .split("\n")
      .map((text) => ({ depth: 0, key: null, text, sign: added ? "added" : removed ? "removed" : "same", path: "" })),
  );
}
