import type { Log, Timers } from "../ports.ts";

/** A loop of the worker. */
export interface Loop {
  /** Ends it after the pass under way. */
  stop(): Promise<void>;
}

/**
 * Makes a pass `every_ms` after the start and after the end of the one before: two never overlap on one node. One that fails
 * is logged as `failed`, and the next one comes all the same. `stopped` is for passes that take long.
 */
export function startPasses(
  { timers, log }: { readonly timers: Timers; readonly log: Log },
  every_ms: number,
  failed: string,
  pass: (stopped: () => boolean) => Promise<void>,
): Loop {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = schedule();

  function schedule(): () => void {
    return timers.after(every_ms, () => {
      running = pass(() => stopped)
        .catch((error: unknown) => log.error({ err: error }, failed))
        .finally(() => {
          if (!stopped) cancel = schedule();
        });
    });
  }

  return {
    async stop() {
      stopped = true;
      cancel();
      await running;
    },
  };
}
