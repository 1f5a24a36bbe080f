import { announceExpiry } from "../operations/keys/announce-expiry.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const look_every_ms = 60_000;

export function startKeyExpiry(runtime: Pick<Runtime, "db" | "ids" | "sealer" | "mails" | "timers" | "log">): Loop {
  return startPasses(runtime, look_every_ms, "looking for keys that expire failed", async (stopped) => {
    const passed_over: string[] = [];
    while (!stopped() && (await announceExpiry(runtime, passed_over)));
  });
}
