/**
 * Deliveries to webhooks: three machines and the record that passes between them.
 *
 *   events ──> dispatcher ──> deliveries ──> deliverer ──> settler ──> deliveries that ended, or are due again
 *              (rows)                        LeasedDelivery   Attempt, Settlement
 *
 * - `dispatcher.ts` turns events into deliveries, one for each webhook that must receive the event.
 * - `deliverer.ts` leases due deliveries (`LeasedDelivery`), sends them, and makes an `Attempt` of each.
 * - `settler.ts` makes a `Settlement` of each attempt, and writes settlements in batches.
 *
 * Rows connect the machines, so a node that dies loses nothing: events wait for the next dispatch, and leases run out.
 */
import type { DeliveryLoop, DeliveryMetrics, Runtime } from "../../operations/runtime.ts";
import type { GiveWay } from "../../ports.ts";
import { courtesyOf } from "./courtesy.ts";
import { Deliverer } from "./deliverer.ts";
import { type DeliveryTerms, delivery_terms } from "./delivery-terms.ts";
import { startDispatcher } from "./dispatcher.ts";
import { startSettler } from "./settler.ts";

/** The machines of one node. */
export interface Deliveries extends DeliveryLoop {
  /** Begins no more attempts; those in flight end, or count as interrupted after 4 s. Settles all of them. */
  stop(): Promise<void>;
}

/** What the machines need of the node. */
export type DeliveryRuntime = Pick<Runtime, "timers" | "db" | "ids" | "clock" | "log" | "sealer" | "httpOut"> & {
  readonly metrics: DeliveryMetrics;
  /** Undefined: they give way to nobody. */
  readonly giveWay?: GiveWay;
};

/** Starts the three machines. */
export function startDeliveries(runtime: DeliveryRuntime, terms: DeliveryTerms = delivery_terms): Deliveries {
  const courtesy = courtesyOf(runtime.giveWay);
  const settler = startSettler(runtime, courtesy, terms.waits_ms);
  const deliverer = new Deliverer(runtime, terms, courtesy, settler.add);
  const dispatcher = startDispatcher(runtime, courtesy, () => deliverer.wake());
  return {
    poke(what = "events") {
      if (what === "events") dispatcher.poke();
      else deliverer.wake();
    },
    async stop() {
      await Promise.all([dispatcher.stop(), deliverer.stop()]);
      await settler.stop();
    },
  };
}
