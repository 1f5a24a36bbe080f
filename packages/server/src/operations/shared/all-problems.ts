import { Fault, type FaultDetail } from "@countersign/core";

/**
 * Makes every check and tells what all of them found, in their order. A check finds something by an invalid_request; what
 * else it throws is thrown at once. Faults: invalid_request. Source: api.md §2.
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
