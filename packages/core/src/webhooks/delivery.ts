/** Computes the state of a delivery after an attempt. */
import { limits } from "@countersign/contract";
import { deliveryFailureText } from "./delivery-failure.ts";

/** The result of one attempt. */
export interface AttemptResult {
  /** Null: no answer. */
  readonly response_status: number | null;
  /** Null if and only if the receiver accepted the event. */
  readonly error: string | null;
}

/** The delivery's next state. */
export type AfterAttempt =
  | { readonly status: "delivered" }
  | { readonly status: "failed" }
  /** The next attempt follows after this time, counted from the end of this attempt. */
  | { readonly status: "pending"; readonly wait_ms: number };

/** Waits after attempt 1 and after attempt 2. */
export const delivery_waits_ms: readonly number[] = [
  limits.delivery_wait_1_seconds * 1_000,
  limits.delivery_wait_2_seconds * 1_000,
];

/** Settles attempt `number` (1, 2 or 3). */
export function afterAttempt(
  number: number,
  result: AttemptResult,
  waits_ms: readonly number[] = delivery_waits_ms,
): AfterAttempt {
  if (result.error === null) return { status: "delivered" };
  const wait_ms = number < limits.delivery_attempts_max ? waits_ms[number - 1] : undefined;
  return wait_ms === undefined ? { status: "failed" } : { status: "pending", wait_ms };
}

/** Classifies a receiver's answer: any 2xx is a success, every other status is a failure with its reason. */
export function judgeAnswer(response_status: number): AttemptResult {
  if (response_status >= 200 && response_status < 300) return { response_status, error: null };
  const redirected = response_status >= 300 && response_status < 400 && response_status !== 304;
  const error = deliveryFailureText(redirected ? "redirected" : "not_taken", { status: response_status });
  return { response_status, error };
}
