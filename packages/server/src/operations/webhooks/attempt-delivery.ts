import { limits } from "@countersign/contract";
import { type AttemptResult, cloudEventHeaders, deliveryFailureText, deliveryHeaders } from "@countersign/core";
import type { Clock } from "../../ports.ts";
import type { LeasedDelivery } from "../../store/webhooks/delivery-queue.ts";
import { secretContext } from "../../store/webhooks/webhooks.ts";
import type { Runtime } from "../runtime.ts";
import { openHeaders } from "./webhook-secret.ts";

export interface Attempt {
  readonly leased: LeasedDelivery;
  /** Start, in microseconds since 1970. */
  readonly at_us: number;
  /** Null: nothing was sent, because the webhook is gone or paused, or the third attempt was lost. `error` null: delivered. */
  readonly result: (AttemptResult & { readonly duration_ms: number }) | null;
}

const unsealable = {
  response_status: null,
  error: deliveryFailureText("secret_not_readable"),
  duration_ms: 0,
};

/**
 * Sends the delivery once, without a transaction. Sends nothing if the webhook is gone or paused, or if the third
 * attempt's lease expired.
 */
export async function attemptDelivery(
  { clock, sealer, httpOut }: Pick<Runtime, "clock" | "sealer" | "httpOut">,
  leased: LeasedDelivery,
): Promise<Attempt> {
  const { org_id, delivery_id, webhook_id, event_type, body, number, url, secret_sealed } = leased;
  const { next_secret_sealed, headers_sealed } = leased;
  const at_us = clock.now_us();
  if (number > limits.delivery_attempts_max || url === null || secret_sealed === null)
    return { leased, at_us, result: null };

  const manual_retry = leased.original_delivery_id !== null;
  let headers: Record<string, string>;
  try {
    const context = secretContext(org_id, webhook_id);
    const secret = sealer.open(secret_sealed, context);
    const next_secret = next_secret_sealed === null ? null : sealer.open(next_secret_sealed, context);
    headers = {
      ...openHeaders(sealer, headers_sealed, org_id, webhook_id),
      ...deliveryHeaders({ delivery_id, event_type, body, manual_retry }, secret, at_us, next_secret),
      ...cloudEventHeaders(leased),
    };
  } catch {
    return { leased, at_us, result: unsealable };
  }
  return { leased, at_us, result: await httpOut.post(url, headers, body) };
}

export function interruptedAttempt(
  { clock }: { readonly clock: Clock },
  leased: LeasedDelivery,
  at_us: number,
): Attempt {
  // Clamped to 0, because the clock may have gone backwards.
  const duration_ms = Math.max(0, Math.round((clock.now_us() - at_us) / 1000));
  const error = deliveryFailureText("interrupted");
  return { leased, at_us, result: { response_status: null, error, duration_ms } };
}
