/**
 * One pass over everything that is old. It takes no input: what is old stands in the database, so a lost wake-up costs
 * time and never work; two passes never overlap on one node.
 */
import { type Aging, aging_pages, deleteOld } from "../operations/delete-old.ts";
import type { Runtime } from "../operations/runtime.ts";

/** The passes of one node. */
export interface Worker {
  /** Ends after the transaction under way. */
  stop(): Promise<void>;
}

/** What differs from node to node. */
export interface WorkerTerms {
  readonly deliveries_kept_days: number;
  /** Hears of every page. */
  readonly deleted: (what: Aging, rows: number) => void;
}

const pass_every_ms = 60_000;

/** Starts the passes. A failing pass is logged and tried again at its next turn. */
export function startWorker(runtime: Pick<Runtime, "db" | "clock" | "timers" | "log">, terms: WorkerTerms): Worker {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = schedule();

  function schedule(): () => void {
    return runtime.timers.after(pass_every_ms, () => {
      running = deleteOld(runtime, { ...aging_pages, ...terms, stopped: () => stopped })
        .catch((error: unknown) => runtime.log.error({ err: error }, "a worker pass failed"))
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
