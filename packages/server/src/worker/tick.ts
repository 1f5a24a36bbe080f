/**
 * One pass over everything that is due. It takes no input: what is due stands in the database. A timer and a poke call
 * the same pass, so a lost wake-up costs time and never work; two passes never overlap on one node.
 */
import { limits } from "@countersign/contract";
import { formatTimestampUs, us_per_second } from "@countersign/core";
import type { Runtime } from "../operations/runtime.ts";
import { deleteOldIdempotencyKeys } from "../store/idempotency.ts";
import { deleteOldTokens } from "../store/person-tokens.ts";
import { deleteOldSessions } from "../store/sessions.ts";

/** The passes of one node. */
export interface Worker {
  /** Ends after the pass under way. */
  stop(): Promise<void>;
}

const pass_every_ms = 60_000;
/** Kept an hour longer than promised, so that no clock difference between nodes shortens the promise. */
const idempotency_kept_us = (limits.idempotency_kept_hours_min + 1) * 3_600 * us_per_second;

/** Starts the passes. A failing pass is logged and tried again at its next turn. */
export function startWorker(runtime: Runtime): Worker {
  let stopped = false;
  let running: Promise<void> = Promise.resolve();
  let cancel = schedule();

  function schedule(): () => void {
    return runtime.timers.after(pass_every_ms, () => {
      running = tick(runtime)
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

/** The pass itself. */
async function tick(runtime: Pick<Runtime, "db" | "clock">): Promise<void> {
  const before = formatTimestampUs(runtime.clock.now_us() - idempotency_kept_us);
  await untilNone(() => runtime.db.system((query) => deleteOldIdempotencyKeys(query, before)));
  const now_us = runtime.clock.now_us();
  const now = formatTimestampUs(now_us);
  const seen_before = formatTimestampUs(now_us - limits.session_idle_seconds * us_per_second);
  await untilNone(() => runtime.db.system((query) => deleteOldSessions(query, now, seen_before)));
  await untilNone(() => runtime.db.system((query) => deleteOldTokens(query, now)));
}

/** Deletes page by page until a page is empty. */
async function untilNone(deletePage: () => Promise<number>): Promise<void> {
  while ((await deletePage()) > 0);
}
