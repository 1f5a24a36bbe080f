import type { PolicyDiagnostic } from "../located.ts";

/** The most findings that are reported for one document. If there are more, one more diagnostic says so. */
export const diagnostics_max = 100;

/** Collects the findings of one document. */
export interface Findings {
  /** Calls `make` only if the finding will be reported. */
  readonly add: (make: () => PolicyDiagnostic) => void;
  /** Whether there are more findings than will be reported, so that checks may stop. */
  readonly full: () => boolean;
  /** Returns the findings in the order of the document. */
  readonly list: () => PolicyDiagnostic[];
}

/** Returns an empty collection of at most `diagnostics_max` findings. */
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

/** Returns the last diagnostic of a document with too many, at the place of the first one that is not reported. */
function andMore(next: PolicyDiagnostic): PolicyDiagnostic {
  const message = `There are more than ${diagnostics_max} findings; the others are not listed.`;
  return { ...next, code: "more_findings", message, help: "Correct those above, then check again." };
}

function byLine(a: PolicyDiagnostic, b: PolicyDiagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
