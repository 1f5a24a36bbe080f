/**
 * The loop over what is old, which goes on among the deliveries where the pass before ended, and over what is due too late
 * because a clock was wrong. Both stand in the database, so a lost wake-up or a restart costs time and never work.
 */

import type { Runtime } from "../operations/runtime.ts";
import { type AgingTerms, aging_pages, deleteOld } from "../operations/upkeep/delete-old.ts";
import { noteClock } from "../operations/upkeep/note-clock.ts";
import { drawNear } from "../store/webhooks/delivery-queue.ts";
import { delivery_terms } from "./deliveries/deliveries.ts";
import { type Loop, startPasses } from "./passes.ts";

const pass_every_ms = 60_000;

/** Starts the loop; `deleted` hears of every page. */
export function startAging(
  runtime: Pick<Runtime, "db" | "clock" | "timers" | "log">,
  terms: Pick<AgingTerms, "deliveries_kept_days" | "deleted">,
): Loop {
  let from: Awaited<ReturnType<typeof deleteOld>> | undefined;
  return startPasses(runtime, pass_every_ms, "deleting what is old failed", async (stopped) => {
    await noteClock(runtime);
    await drawNear(runtime.db, delivery_terms.lease_ms);
    from = await deleteOld(runtime, { ...aging_pages, ...terms, stopped }, from);
  });
}
