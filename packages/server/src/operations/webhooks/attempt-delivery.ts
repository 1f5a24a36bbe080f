/** One attempt of one claimed delivery, and settling what attempts came to. Source: architecture.md §5, contract §6. */
import { limits } from "@countersign/contract";
import { afterAttempt, deliveryFailureText, deliveryHeaders, formatTimestampUs } from "@countersign/core";
import type { Ids } from "../../ports.ts";
import { type AuditRow, auditRow } from "../../store/audit/audit.ts";
import {
  type AttemptRecord,
  type ClaimedDelivery,
  type Settlement,
  settle,
} from "../../store/webhooks/delivery-queue.ts";
import { secretContext } from "../../store/webhooks/webhooks.ts";
import type { Runtime } from "../runtime.ts";

/** What a claimed delivery came to, to be settled. */
export interface Ended {
  readonly claimed: ClaimedDelivery;
  readonly settlement: Omit<Settlement, "audit">;
  /** Of the attempt; 0: there was none. */
  readonly duration_ms: number;
}

const interrupted = deliveryFailureText("interrupted");

const unsealable = {
  response_status: null,
  error: deliveryFailureText("secret_not_readable"),
  duration_ms: 0,
};

/**
 * Sends the delivery and says how it goes on; holds no transaction. Nothing is sent when its webhook is gone, or when the
 * lease of the third attempt ran out: then only the end is left to write. `waits_ms`: tests only.
 */
export async function attemptDelivery(
  runtime: Pick<Runtime, "clock" | "sealer" | "httpOut">,
  claimed: ClaimedDelivery,
  waits_ms?: readonly number[],
): Promise<Ended> {
  const { org_id, delivery_id, webhook_id, event_type, body, number, url, secret_sealed } = claimed;
  const at_us = runtime.clock.now_us();
  if (number > limits.delivery_attempts_max) return withoutAttempt(claimed, "failed", at_us);
  if (url === null || secret_sealed === null) return withoutAttempt(claimed, "cancelled", at_us);

  const manual_retry = claimed.original_delivery_id !== null;
  const delivery = { delivery_id, event_type, body, manual_retry };
  let secret: string | null = null;
  try {
    secret = runtime.sealer.open(secret_sealed, secretContext(org_id, webhook_id));
  } catch {
    // Told to the organization in the failed record: nothing that waiting would mend.
  }
  const result =
    secret === null ? unsealable : await runtime.httpOut.post(url, deliveryHeaders(delivery, secret, at_us), body);
  return afterwards(claimed, at_us, result, waits_ms);
}

/** What an attempt comes to that the service does not wait for any more, because it stops. */
export function abandonedAttempt(
  { clock }: Pick<Runtime, "clock">,
  claimed: ClaimedDelivery,
  started_us: number,
  waits_ms?: readonly number[],
): Ended {
  const duration_ms = Math.max(0, Math.round((clock.now_us() - started_us) / 1000));
  return afterwards(claimed, started_us, { response_status: null, error: interrupted, duration_ms }, waits_ms);
}

/** The end of an attempt that began at `at_us` and came to `result`. */
function afterwards(
  claimed: ClaimedDelivery,
  at_us: number,
  { duration_ms, ...result }: Omit<AttemptRecord, "number" | "at">,
  waits_ms?: readonly number[],
): Ended {
  const { delivery_id, number } = claimed;
  const at = formatTimestampUs(at_us);
  const after = afterAttempt(number, result, waits_ms);
  const outcomes = [...withoutGaps(claimed.outcomes, number - 1, at), { number, at, ...result, duration_ms }];
  const wait_ms = after.status === "pending" ? after.wait_ms : 0;
  return {
    claimed,
    duration_ms,
    settlement: { delivery_id, attempts: number, status: after.status, outcomes, wait_ms },
  };
}

/** The end of a delivery of which nothing is sent any more. */
function withoutAttempt(claimed: ClaimedDelivery, status: Settlement["status"], now_us: number): Ended {
  const { delivery_id, number } = claimed;
  const attempts = Math.min(number, limits.delivery_attempts_max);
  const begun = Math.min(number - 1, limits.delivery_attempts_max);
  const outcomes = withoutGaps(claimed.outcomes, begun, formatTimestampUs(now_us));
  return { claimed, duration_ms: 0, settlement: { delivery_id, attempts, status, outcomes, wait_ms: 0 } };
}

/** Attempts that were begun and never settled get a record too: the process was killed while they ran. */
function withoutGaps(outcomes: readonly AttemptRecord[], begun: number, at: string): AttemptRecord[] {
  return Array.from({ length: begun }, (_, index) => {
    const number = index + 1;
    const known = outcomes.find((each) => each.number === number);
    return known ?? { number, at, response_status: null, error: interrupted, duration_ms: 0 };
  });
}

/**
 * Writes what the attempts of one organization came to, and `delivered` and `delivery_failed` into its audit trail, in one
 * transaction; a settlement that a newer claim has overtaken changes nothing.
 */
export async function settleDeliveries(
  runtime: Pick<Runtime, "db" | "clock" | "ids">,
  org_id: string,
  ended: readonly Ended[],
): Promise<void> {
  const at = formatTimestampUs(runtime.clock.now_us());
  await settle(
    runtime.db,
    org_id,
    ended.map(({ claimed, settlement }) => ({ ...settlement, audit: auditOf(runtime.ids, at, claimed, settlement) })),
  );
}

function auditOf(ids: Ids, at: string, claimed: ClaimedDelivery, settlement: Ended["settlement"]): AuditRow | null {
  const { delivery_id, status, outcomes, attempts } = settlement;
  if (status === "pending" || status === "cancelled") return null;
  const { webhook_id, event_type, intent_id, original_delivery_id } = claimed;
  const { response_status = null, error = null } = outcomes.at(-1) ?? {};
  const data = { delivery_id, webhook_id, event_type, original_delivery_id, attempts, response_status, error };
  const type = status === "delivered" ? "delivered" : "delivery_failed";
  return auditRow(ids, { intent_id, at, actor: "system", type, data });
}
