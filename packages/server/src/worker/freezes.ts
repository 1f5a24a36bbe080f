/**
 * The loop that closes the reviews of frozen subjects. The remaining ones are rows in the database, so every node may
 * close them.
 */
import { closeFrozenReviews } from "../operations/freezes/close-frozen-reviews.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 500;

/** Starts the loop. */
export function startFreezes(runtime: Pick<Runtime, "db" | "ids" | "timers" | "log" | "deliveries">): Loop {
  return startPasses(runtime, look_every_ms, "looking for reviews of frozen subjects failed", async (stopped) => {
    // An organization whose reviews could not be closed must not block the others.
    const passed_over: string[] = [];
    while (!stopped() && (await closeFrozenReviews(runtime, passed_over)));
  });
}
