import type { PolicyDiagnostic } from "../source.ts";

/** The most findings that are told about one document; where there are more, one more diagnostic says so. */
export const diagnostics_max = 100;

/** What has been found about one document so far. */
export interface Findings {
  /** `make` is called only where the finding will be told. */
  readonly add: (make: () => PolicyDiagnostic) => void;
  /** There are more findings than will be told: looking for others is of no use. */
  readonly full: () => boolean;
  /** In the order in which a reader meets them. */
  readonly list: () => PolicyDiagnostic[];
}

/** An empty list that takes `diagnostics_max` findings and remembers whether there was another. */
export function collectFindings(): Findings {
  const found: PolicyDiagnostic[] = [];
  let more: PolicyDiagnostic | null = null;
  return {
    add: (make) => {
      if (found.length < diagnostics_max) found.push(make());
      else more ??= andMore(make());
    },
    full: () => more !== null,
    list: () => {
      const sorted = found.sort(byLine);
      return more === null ? sorted : [...sorted, more];
    },
  };
}

/** The last diagnostic of a document with too many, at the first that is not told. */
function andMore(next: PolicyDiagnostic): PolicyDiagnostic {
  const message = `There are more than ${diagnostics_max} findings; the others are not listed.`;
  return { ...next, code: "more_findings", message, help: "Correct those above, then check again." };
}

/** In the order in which a reader meets them. */
function byLine(a: PolicyDiagnostic, b: PolicyDiagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
