import { watchRollouts } from "../operations/rollouts/watch-rollouts.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 15_000;

export function startRollouts(
  runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails" | "deliveries" | "timers" | "log">,
): Loop {
  return startPasses(runtime, look_every_ms, "looking at rollouts failed", (stopped) =>
    watchRollouts(runtime, stopped),
  );
}
