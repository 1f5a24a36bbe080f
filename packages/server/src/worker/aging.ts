/** Deletes old rows. The rows say what is old, so a restart costs only time. */

import type { Runtime } from "../operations/runtime.ts";
import { type AgingTerms, agingPages, deleteOld } from "../operations/upkeep/delete-old.ts";
import { type Loop, startPasses } from "./passes.ts";

const pass_every_ms = 60_000;

/** Reports every page to `deleted`. */
export function startAging(
  runtime: Pick<Runtime, "db" | "timers" | "log">,
  terms: Pick<AgingTerms, "deliveries_kept_days" | "deleted">,
): Loop {
  let from: Awaited<ReturnType<typeof deleteOld>> | undefined;
  return startPasses(runtime, pass_every_ms, "deleting old rows failed", async (stopped) => {
    from = await deleteOld(runtime, { ...agingPages, ...terms, stopped }, from);
  });
}
