import { keepRetention } from "../operations/erasure/keep-retention.ts";
import { runErasures } from "../operations/erasure/run-erasure.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const erasures_every_ms = 5_000;
const retention_every_ms = 60_000;

/** Continues erasures, and removes content that is older than its organization keeps it. */
export function startErasure(
  runtime: Pick<Runtime, "db" | "clock" | "ids" | "sealer" | "deliveries" | "timers" | "log">,
): Loop {
  const loops = [
    startPasses(runtime, erasures_every_ms, "continuing erasures failed", (stopped) => runErasures(runtime, stopped)),
    startPasses(runtime, retention_every_ms, "removing old content failed", (stopped) =>
      keepRetention(runtime, stopped),
    ),
  ];
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
