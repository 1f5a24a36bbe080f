/** Runs of entries without a gap, from entries in descending order. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

export interface Runs {
  /** `counts`: the entry is of the period. */
  add(entry: number, counts: boolean): void;
  /** Returns the runs with an entry of the period, the newest first. */
  counted(): readonly Run[];
}

export function startRuns(): Runs {
  const runs: { first: number; last: number; counts: boolean }[] = [];
  return {
    add(entry, counts) {
      const run = runs.at(-1);
      // Records of one decision share an entry.
      if (run !== undefined && (entry === run.first || entry === run.first - 1)) {
        run.first = entry;
        run.counts ||= counts;
      } else runs.push({ first: entry, last: entry, counts });
    },
    counted: () => runs.filter(({ counts }) => counts).map(({ first, last }) => ({ first, last })),
  };
}
