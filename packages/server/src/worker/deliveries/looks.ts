/** Looks at all organizations for work that was not reported: of a dead node, of an expired lease, after a restart. */
import type { Log, Timers } from "../../ports.ts";

/** The pause is this many times the duration of the look. */
const pause_looks = 20;
const pause_ms = { min: 1_000, max: 5_000 };

export interface Looks {
  /** No look follows. */
  stop(): Promise<void>;
}

/** The first look follows at once. */
export function startLooks(
  { log, timers, clock }: { readonly log: Log; readonly timers: Timers; readonly clock: { now_us(): number } },
  find: () => Promise<readonly string[]>,
  found: (org_id: string) => void,
): Looks {
  let stopped = false;
  let looking = Promise.resolve();
  let cancel = timers.after(0, start);

  function start(): void {
    looking = look();
  }

  async function look(): Promise<void> {
    const began_us = clock.now_us();
    try {
      for (const org_id of await find()) found(org_id);
    } catch (error) {
      log.error({ err: error }, "looking for deliveries failed");
    }
    if (stopped) return;
    const took_ms = (clock.now_us() - began_us) / 1_000;
    cancel = timers.after(Math.min(Math.max(pause_ms.min, took_ms * pause_looks), pause_ms.max), start);
  }

  return {
    async stop() {
      stopped = true;
      cancel();
      await looking;
    },
  };
}
