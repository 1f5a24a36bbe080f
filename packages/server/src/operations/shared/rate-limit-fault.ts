import { Fault } from "@countersign/core";

/** Returns the 429. Source: spec §7. */
export function rateLimitFault(retry_after_seconds: number): Fault {
  return new Fault("rate_limit_exceeded", {
    details: [{ retry_after_seconds }],
    headers: { "retry-after": String(retry_after_seconds) },
  });
}
