import { Fault } from "@countersign/core";

/** Returns the 429 for a caller that may try again after so many seconds. Source: contract §7. */
export function rateLimitFault(retry_after_seconds: number): Fault {
  return new Fault("rate_limit_exceeded", {
    details: [{ retry_after_seconds }],
    headers: { "retry-after": String(retry_after_seconds) },
  });
}
