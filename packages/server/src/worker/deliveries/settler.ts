/** Settles attempts in the background, all that has gathered for an organization in one transaction. */

import type { DeliveryMetrics, Runtime } from "../../operations/runtime.ts";
import { type Ended, settleDeliveries } from "../../operations/webhooks/deliver-due.ts";

/** Nobody waits for a settlement, and one for many deliveries costs little more than one for one. */
const settle_every_ms = 50;
const settling_again_ms = 500;
const settling_lanes = 3;

/** What ended, until it is settled. */
export interface Settler {
  add(ended: Ended): void;
  /** Settles what has gathered, and resolves when that is done. */
  stop(): Promise<void>;
}

/** Creates a settler; before each settlement `politely` is awaited and `most` says for how many it may be. */
export function createSettler(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "timers" | "log"> & { readonly metrics: DeliveryMetrics },
  politely: () => Promise<void>,
  most: () => number,
): Settler {
  const waiting = new Map<string, Ended[]>();
  const settling = new Map<string, Promise<void>>();
  let gathering: (() => void) | null = null;
  let stopped = false;

  function add(ended: Ended): void {
    const { org_id } = ended.claimed;
    const list = waiting.get(org_id);
    if (list === undefined) waiting.set(org_id, [ended]);
    else list.push(ended);
    if (stopped) pump();
    else gathering ??= runtime.timers.after(settle_every_ms, pump);
  }

  function pump(): void {
    gathering?.();
    gathering = null;
    for (const [org_id, list] of waiting) {
      if (settling.size >= settling_lanes) return;
      if (settling.has(org_id)) continue;
      waiting.delete(org_id);
      settling.set(
        org_id,
        settleAll(org_id, list).finally(() => {
          settling.delete(org_id);
          if (waiting.size > 0) pump();
        }),
      );
    }
  }

  async function settleAll(org_id: string, list: readonly Ended[]): Promise<void> {
    let left = list;
    while (left.length > 0) {
      try {
        await politely();
        const part = left.slice(0, most());
        await settleDeliveries(runtime, org_id, part);
        for (const { settlement, duration_ms } of part) runtime.metrics.attempted(settlement.status, duration_ms);
        left = left.slice(part.length);
      } catch (error) {
        runtime.log.error({ err: error, org_id }, "settling deliveries failed");
        if (stopped) return;
        // Until then the leases hold; when they have run out the settlement is void, and the attempt happens again.
        await new Promise<void>((resolve) => void runtime.timers.after(settling_again_ms, resolve));
      }
    }
  }

  return {
    add,
    async stop() {
      stopped = true;
      pump();
      while (settling.size > 0) await Promise.all(settling.values());
    },
  };
}
