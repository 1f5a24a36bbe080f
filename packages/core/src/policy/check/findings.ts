import type { PolicyDiagnostic } from "../located.ts";

/** One more diagnostic says if there are others. */
export const diagnostics_max = 100;

export interface Findings {
  /** Calls `make` only if the finding will be reported. */
  readonly add: (make: () => PolicyDiagnostic) => void;
  /** True if no further finding will be reported, so checks may stop. */
  readonly full: () => boolean;
  readonly list: () => PolicyDiagnostic[];
}

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

function andMore(next: PolicyDiagnostic): PolicyDiagnostic {
  const message = `There are more than ${diagnostics_max} findings; the others are not listed.`;
  return { ...next, code: "more_findings", message, help: "Correct those above, then check again." };
}

function byLine(a: PolicyDiagnostic, b: PolicyDiagnostic): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
