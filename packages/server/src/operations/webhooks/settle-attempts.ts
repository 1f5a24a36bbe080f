import { limits } from "@countersign/contract";
import {
  afterAttempt,
  deliveryFailureText,
  duration_buckets,
  durationBucket,
  formatTimestampUs,
} from "@countersign/core";
import type { Ids } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import {
  type AttemptRecord,
  type LeasedDelivery,
  type Settlement,
  settle,
  type Watched,
} from "../../store/webhooks/delivery-queue.ts";
import type { Runtime } from "../runtime.ts";
import type { Attempt } from "./attempt-delivery.ts";

type Outcome = Omit<Settlement, "audit">;

/**
 * Computes the status after the attempt, and the wait before the next one. If nothing was sent, the delivery ends:
 * failed if the third attempt was lost or the webhook is paused, else cancelled. `waits_ms` replaces the 5 s and 25 s of the spec (tests only).
 */
export function settlementOf({ leased, at_us, result }: Attempt, waits_ms?: readonly number[]): Outcome {
  const { delivery_id, number } = leased;
  const at = formatTimestampUs(at_us);
  if (result === null) {
    const begun = Math.min(number - 1, limits.delivery_attempts_max);
    return {
      delivery_id,
      attempts: Math.min(number, limits.delivery_attempts_max),
      status: number > limits.delivery_attempts_max || leased.paused ? "failed" : "cancelled",
      outcomes: withoutGaps(leased.outcomes, begun, at),
      wait_ms: 0,
    };
  }
  const { response_status, error, duration_ms } = result;
  const after = afterAttempt(number, { response_status, error }, waits_ms);
  return {
    delivery_id,
    attempts: number,
    status: after.status,
    outcomes: [...withoutGaps(leased.outcomes, number - 1, at), { number, at, response_status, error, duration_ms }],
    wait_ms: after.status === "pending" ? after.wait_ms : 0,
  };
}

function withoutGaps(outcomes: readonly AttemptRecord[], begun: number, at: string): AttemptRecord[] {
  return Array.from({ length: begun }, (_, index) => {
    const number = index + 1;
    const known = outcomes.find((each) => each.number === number);
    return known ?? { number, at, response_status: null, error: deliveryFailureText("interrupted"), duration_ms: 0 };
  });
}

/**
 * Settles attempts of one organization in one transaction, with audit rows. If a newer lease exists, the settlement
 * changes nothing. Returns all settlements.
 */
export async function settleAttempts(
  { db, clock, ids }: Pick<Runtime, "db" | "clock" | "ids">,
  org_id: string,
  attempts: readonly Attempt[],
  waits_ms?: readonly number[],
): Promise<readonly Settlement[]> {
  const at = formatTimestampUs(clock.now_us());
  const settlements = attempts.map((attempt) => {
    const outcome = settlementOf(attempt, waits_ms);
    return { ...outcome, audit: auditOf(ids, at, attempt.leased, outcome) };
  });
  await settle(db, org_id, settlements, watchedIn(attempts, settlements));
  return settlements;
}

/** Sums up the attempts of each webhook. Attempts that sent nothing do not count. */
function watchedIn(attempts: readonly Attempt[], settlements: readonly Outcome[]): Watched[] {
  const found = new Map<string, { -readonly [K in keyof Watched]: Watched[K] } & { durations: number[] }>();
  for (const [n, { leased, result }] of attempts.entries()) {
    if (result === null) continue;
    const { webhook_id } = leased;
    const known = found.get(webhook_id);
    const durations = known?.durations ?? Array.from({ length: duration_buckets }, () => 0);
    const sums = known ?? { webhook_id, attempts: 0, accepted: 0, durations, succeeded: false, failures: 0 };
    found.set(webhook_id, sums);
    const bucket = durationBucket(result.duration_ms);
    durations[bucket] = (durations[bucket] ?? 0) + 1;
    sums.attempts += 1;
    const status = settlements[n]?.status;
    if (status === "delivered") Object.assign(sums, { accepted: sums.accepted + 1, succeeded: true, failures: 0 });
    if (status === "failed") sums.failures += 1;
  }
  return [...found.values()];
}

function auditOf(ids: Ids, at: string, leased: LeasedDelivery, outcome: Outcome): AuditRow | null {
  const { delivery_id, status, outcomes, attempts } = outcome;
  if (status === "pending" || status === "cancelled") return null;
  const { webhook_id, event_type, intent_id, original_delivery_id } = leased;
  const { response_status = null, error = null } = outcomes.at(-1) ?? {};
  const data = { delivery_id, webhook_id, event_type, original_delivery_id, attempts, response_status, error };
  const type = status === "delivered" ? "delivered" : "delivery_failed";
  return auditRow(ids, { intent_id, at, actor: "system", type, data });
}
