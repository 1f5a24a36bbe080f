/** Runs of entries without a gap, from entries in descending order. */
export interface Run {
  readonly first: number;
  readonly last: number;
  /** The first entry is of the period, so an earlier one could be, too. */
  readonly first_counts: boolean;
  readonly last_counts: boolean;
}

export interface Runs {
  /** `counts`: the entry is of the period. */
  add(entry: number, counts: boolean): void;
  /** Returns the runs with an entry of the period, the newest first. */
  counted(): readonly Run[];
}

export function startRuns(): Runs {
  const runs: (Run & { readonly counts: boolean })[] = [];
  return {
    add(entry, counts) {
      const run = runs.at(-1);
      // Records of one decision share an entry.
      if (run !== undefined && (entry === run.first || entry === run.first - 1))
        runs[runs.length - 1] = { ...run, first: entry, first_counts: counts, counts: run.counts || counts };
      else runs.push({ first: entry, last: entry, first_counts: counts, last_counts: counts, counts });
    },
    counted: () => runs.filter(({ counts }) => counts),
  };
}
