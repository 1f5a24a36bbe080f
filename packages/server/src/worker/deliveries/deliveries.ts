/**
 * Deliveries to webhooks in three machines:
 *
 *   event ──> dispatcher ──delivery──> deliverer ──Attempt──> settler ──Settlement──> delivery: ended, or due again
 *   (row)                  (row)                  (in memory)           (written)     (row)
 *
 * Events and deliveries are rows, so a node that dies loses none of them. Events wait for the next dispatch. An attempt
 * that was not settled happens again when its lease expires.
 */
import type { DeliveryLoop, DeliveryMetrics, Runtime } from "../../operations/runtime.ts";
import type { GiveWay } from "../../ports.ts";
import { courtesyOf } from "./courtesy.ts";
import { Deliverer } from "./deliverer.ts";
import { type DeliveryTerms, standardTerms } from "./delivery-terms.ts";
import { startDispatcher } from "./dispatcher.ts";
import { startSettler } from "./settler.ts";

export interface Deliveries extends DeliveryLoop {
  /** Waits 4 s for attempts in flight, and settles all. The rest counts as interrupted. */
  stop(): Promise<void>;
}

export type DeliveryRuntime = Pick<Runtime, "timers" | "db" | "ids" | "clock" | "log" | "sealer" | "httpOut"> & {
  readonly metrics: DeliveryMetrics;
  /** Undefined: the machines never wait. */
  readonly giveWay?: GiveWay;
};

export function startDeliveries(runtime: DeliveryRuntime, terms: DeliveryTerms = standardTerms): Deliveries {
  const courtesy = courtesyOf(runtime.giveWay);
  const settler = startSettler(
    runtime,
    courtesy,
    (org_id, wait_ms) => deliverer.wakeAfter(org_id, wait_ms),
    terms.waits_ms,
  );
  const deliverer = new Deliverer(runtime, terms, courtesy, settler.add);
  const dispatcher = startDispatcher(runtime, courtesy, (org_id) => deliverer.wake(org_id));
  return {
    wake(org_id, what = "events") {
      if (what === "events") dispatcher.wake(org_id);
      else deliverer.wake(org_id);
    },
    async stop() {
      await Promise.all([dispatcher.stop(), deliverer.stop()]);
      await settler.stop();
    },
  };
}
