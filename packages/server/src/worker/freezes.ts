/** The loop that closes the reviews of what is frozen. What is left to close stands in the database, so every node may do it. */
import { closeFrozenReviews } from "../operations/freezes/close-frozen-reviews.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 500;

/** Starts the loop. */
export function startFreezes(runtime: Pick<Runtime, "db" | "ids" | "timers" | "log" | "deliveries">): Loop {
  return startPasses(runtime, look_every_ms, "looking for reviews of what is frozen failed", async (stopped) => {
    // An organization whose reviews could not be closed must not hide the others.
    const passed_over: string[] = [];
    while (!stopped() && (await closeFrozenReviews(runtime, passed_over)));
  });
}
