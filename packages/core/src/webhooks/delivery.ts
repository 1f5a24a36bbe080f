import { limits } from "@countersign/contract";
import { deliveryFailureText } from "./delivery-failure.ts";

export interface AttemptResult {
  /** Null: no answer. */
  readonly response_status: number | null;
  /** Null if and only if accepted. */
  readonly error: string | null;
}

export type AfterAttempt =
  | { readonly status: "delivered" }
  | { readonly status: "failed" }
  /** Counted from the end of this attempt. */
  | { readonly status: "pending"; readonly wait_ms: number };

/** After attempts 1 and 2. */
export const delivery_waits_ms: readonly number[] = [
  limits.delivery_wait_1_seconds * 1_000,
  limits.delivery_wait_2_seconds * 1_000,
];

/** `number` is 1, 2 or 3. */
export function afterAttempt(
  number: number,
  result: AttemptResult,
  waits_ms: readonly number[] = delivery_waits_ms,
): AfterAttempt {
  if (result.error === null) return { status: "delivered" };
  const wait_ms = number < limits.delivery_attempts_max ? waits_ms[number - 1] : undefined;
  return wait_ms === undefined ? { status: "failed" } : { status: "pending", wait_ms };
}

export function judgeAnswer(response_status: number): AttemptResult {
  if (response_status >= 200 && response_status < 300) return { response_status, error: null };
  const redirected = response_status >= 300 && response_status < 400 && response_status !== 304;
  const error = deliveryFailureText(redirected ? "redirected" : "not_taken", { status: response_status });
  return { response_status, error };
}
