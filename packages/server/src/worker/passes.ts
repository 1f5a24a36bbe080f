import type { Log, Timers } from "../ports.ts";

/** A loop of the worker. */
export interface Loop {
  /** Ends the loop after the current pass. */
  stop(): Promise<void>;
}

/**
 * Makes the first pass `every_ms` after the start, and each further one `every_ms` after the end of the last. So two
 * never overlap on one node. A failure is logged as `failed`, and does not stop later passes. `stopped` is for long
 * passes.
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
