import { Fault, type FaultDetail } from "@countersign/core";

/**
 * Runs all checks and reports their problems in one fault, in order. Other errors than invalid_request are rethrown at
 * once. Faults: invalid_request.
 */
export async function refuseAllProblems(checks: readonly (() => void | Promise<void>)[]): Promise<void> {
  const details: FaultDetail[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof Fault && error.code === "invalid_request")) throw error;
      details.push(...error.details);
    }
  }
  if (details.length > 0) throw new Fault("invalid_request", { details });
}
