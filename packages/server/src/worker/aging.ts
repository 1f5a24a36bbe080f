/**
 * The loop over what is old, which goes on among the deliveries where the pass before ended, and over what is due too late
 * because a clock was wrong. Both stand in the database, so a lost wake-up or a restart costs time and never work.
 */
import { formatTimestampUs } from "@countersign/core";
import { type AgingTerms, aging_pages, deleteOld } from "../operations/delete-old.ts";
import type { Runtime } from "../operations/runtime.ts";
import { noteClock } from "../store/clock-steps.ts";
import { drawNear } from "../store/delivery-queue.ts";
import { delivery_terms } from "./deliveries.ts";
import { type Loop, startPasses } from "./passes.ts";

const pass_every_ms = 60_000;

/** Starts the loop; `deleted` hears of every page. */
export function startAging(
  runtime: Pick<Runtime, "db" | "clock" | "timers" | "log">,
  terms: Pick<AgingTerms, "deliveries_kept_days" | "deleted">,
): Loop {
  let from: Awaited<ReturnType<typeof deleteOld>> | undefined;
  return startPasses(runtime, pass_every_ms, "deleting what is old failed", async (stopped) => {
    await noteClockNow(runtime);
    await drawNear(runtime.db, delivery_terms.lease_ms);
    from = await deleteOld(runtime, { ...aging_pages, ...terms, stopped }, from);
  });
}

/** Notes how far this node's clock has come, so that lists know where it was set back. At the start, and with each pass. */
export async function noteClockNow({ db, clock }: Pick<Runtime, "db" | "clock">): Promise<void> {
  const now_us = clock.now_us();
  const reached_us = Math.max(now_us, clock.reached_us?.() ?? 0);
  await db.system((query) => noteClock(query, formatTimestampUs(now_us), formatTimestampUs(reached_us)));
}
