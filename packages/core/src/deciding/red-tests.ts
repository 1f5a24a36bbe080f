import { collectFindings } from "../policy/check/findings.ts";
import { diagnose, type Located, type PolicyDiagnostic } from "../policy/located.ts";
import type { PolicyTestResult } from "./run-tests.ts";

/** Places each failed test at the first expectation that it does not meet. */
export function redTestDiagnostics(results: readonly PolicyTestResult[], located: Located): PolicyDiagnostic[] {
  const findings = collectFindings();
  for (const [index, result] of results.entries()) {
    if (result.passed) continue;
    const message = `The test ${JSON.stringify(result.name)} fails: ${mismatchesOf(result)}.`;
    const help = "Correct the policy or what the test expects.";
    const [first] = result.mismatches;
    const path = `/tests/${index}${first === undefined ? "" : `/expect/${first.field}`}`;
    findings.add(() => diagnose(located, path, { code: "test_failed", message, help }));
  }
  return findings.list();
}

function mismatchesOf({ mismatches }: PolicyTestResult): string {
  return mismatches
    .map(({ field, expected, actual }) => `${field} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`)
    .join("; ");
}
