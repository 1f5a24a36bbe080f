import { closeFrozenReviews } from "../operations/freezes/close-frozen-reviews.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 500;

export function startFreezes(runtime: Pick<Runtime, "db" | "ids" | "timers" | "log" | "deliveries">): Loop {
  return startPasses(runtime, look_every_ms, "looking for reviews of frozen subjects failed", async (stopped) => {
    // An organization whose reviews cannot be closed must not block others.
    const passed_over: string[] = [];
    while (!stopped() && (await closeFrozenReviews(runtime, passed_over)));
  });
}
