/**
 * The settler, the last machine: writes the outcomes of attempts, and when the next attempt is due.
 *
 *   gathering (50 ms) ──> settling ──written──> gone
 *                         settling ──failed──> settling again after 500 ms
 *
 * An organization has one batch at a time. Attempts that end meanwhile wait for the next batch. At most three
 * organizations settle at a time. The settler calls `again` for a delivery that must be sent again.
 */
import type { DeliveryMetrics, Runtime } from "../../operations/runtime.ts";
import type { Attempt } from "../../operations/webhooks/attempt-delivery.ts";
import { settleAttempts } from "../../operations/webhooks/settle-attempts.ts";
import { watchWebhooks } from "../../operations/webhooks/watch-webhooks.ts";
import type { Courtesy } from "./courtesy.ts";

/** A batch costs little more than one attempt. */
const gather_ms = 50;
const retry_ms = 500;
const organizations_max = 3;

export interface Settler {
  add(attempt: Attempt): void;
  /** Settles the waiting attempts, without retries. */
  stop(): Promise<void>;
}

/** Calls `again` with the wait before a delivery's next attempt. */
export function startSettler(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "timers" | "log" | "sealer"> & { readonly metrics: DeliveryMetrics },
  courtesy: Courtesy,
  again: (org_id: string, wait_ms: number) => void,
  waits_ms?: readonly number[],
): Settler {
  const { timers, metrics, log } = runtime;
  /** By organization. */
  const gathered = new Map<string, Attempt[]>();
  /** By organization. */
  const settling = new Map<string, Promise<void>>();
  let cancelGather: (() => void) | null = null;
  let stopped = false;

  function add(attempt: Attempt): void {
    const { org_id } = attempt.leased;
    const known = gathered.get(org_id);
    if (known === undefined) gathered.set(org_id, [attempt]);
    else known.push(attempt);
    if (stopped) settleGathered();
    else cancelGather ??= timers.after(gather_ms, settleGathered);
  }

  function settleGathered(): void {
    cancelGather?.();
    cancelGather = null;
    for (const [org_id, attempts] of gathered) {
      if (settling.size >= organizations_max) return;
      if (settling.has(org_id)) continue;
      gathered.delete(org_id);
      const settled = settleAll(org_id, attempts).finally(() => {
        settling.delete(org_id);
        if (gathered.size > 0) settleGathered();
      });
      settling.set(org_id, settled);
    }
  }

  async function settleAll(org_id: string, attempts: readonly Attempt[]): Promise<void> {
    for (let left = attempts; left.length > 0; ) {
      try {
        await courtesy.rest();
        const part = left.slice(0, courtesy.size(left.length));
        const settlements = await settleAttempts(runtime, org_id, part, waits_ms);
        for (const [n, { status }] of settlements.entries())
          metrics.attempted(status, part[n]?.result?.duration_ms ?? 0);
        const waits = settlements.flatMap(({ status, wait_ms }) => (status === "pending" ? [wait_ms] : []));
        for (const wait_ms of new Set(waits)) again(org_id, wait_ms);
        left = left.slice(part.length);
        if (settlements.some(({ status }) => status === "failed")) await watch(runtime, org_id);
      } catch (error) {
        log.error({ err: error, org_id }, "settling deliveries failed");
        if (stopped) return;
        // If a lease expires before the retry, the settlement changes nothing, and the attempt happens again.
        await new Promise<void>((resolve) => void timers.after(retry_ms, resolve));
      }
    }
  }

  return {
    add,
    async stop() {
      stopped = true;
      settleGathered();
      while (settling.size > 0) await Promise.all(settling.values());
    },
  };
}

/** A failure here must not settle the attempts again. The next failed delivery tries again. */
async function watch(
  runtime: Parameters<typeof watchWebhooks>[0] & Pick<Runtime, "log">,
  org_id: string,
): Promise<void> {
  try {
    await watchWebhooks(runtime, org_id);
  } catch (error) {
    runtime.log.error({ err: error, org_id }, "could not pause or report a failing webhook");
  }
}
