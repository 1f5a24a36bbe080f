import { collectFindings } from "../policy/check/findings.ts";
import { readObject } from "../policy/check/object-places.ts";
import { type PolicyDiagnostic, readSource } from "../policy/source.ts";
import type { PolicyTestResult } from "./run-tests.ts";

/**
 * One diagnostic for each case beside a policy that is red, at its line and column in the document as it was given: YAML or
 * JSON text, or an object that came as JSON.
 */
export function redTestDiagnostics(
  results: readonly PolicyTestResult[],
  input: string | Readonly<Record<string, unknown>>,
): PolicyDiagnostic[] {
  if (results.every(({ passed }) => passed)) return [];
  const source = typeof input === "string" ? readSource(input) : readObject(input);
  const findings = collectFindings();
  for (const [index, result] of results.entries()) {
    if (result.passed) continue;
    const message = `The test ${JSON.stringify(result.name)} fails: ${mismatchesOf(result)}.`;
    const help = "Correct the policy or what the test expects.";
    findings.add(() => source.at(`/tests/${index}`, { code: "test_failed", message, help }));
  }
  return findings.list();
}

function mismatchesOf({ mismatches }: PolicyTestResult): string {
  return mismatches
    .map(({ field, expected, actual }) => `${field} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`)
    .join("; ");
}
