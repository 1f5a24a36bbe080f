/**
 * The dispatcher, the first of the three machines: turns committed events into deliveries, one for each webhook that must
 * receive the event. Events and deliveries are rows in the database, so a lost wake-up costs time and never an event.
 *
 *   idle ──wake──> gathering (5 ms) ──> dispatching ──no events left──> idle
 *   idle ──timer (1 s)────────────────> dispatching ──events left─────> dispatching
 *
 * What wakes it: a call after a commit of this node; a timer, because a call may be lost.
 * What it hands on: rows. It also calls `made` after each statement that made deliveries, to wake the deliverer.
 */
import { formatTimestampUs } from "@countersign/core";
import type { Runtime } from "../../operations/runtime.ts";
import { dispatchEvents, events_per_statement } from "../../store/webhooks/dispatch-events.ts";
import type { Courtesy } from "./courtesy.ts";
import { oneAtATime } from "./one-at-a-time.ts";

const look_ms = 1_000;
/** All calls of `wake` within this time lead to one dispatch, because a busy API calls it for every decision. */
const gather_ms = 5;

/** The dispatcher of one node. */
export interface Dispatcher {
  /** Call it when there are new events. */
  wake(): void;
  /** Waits for the statement under way, and begins no other. */
  stop(): Promise<void>;
}

/** Starts the dispatcher. It calls `made` after each statement that made deliveries. */
export function startDispatcher(
  { db, ids, clock, timers, log }: Pick<Runtime, "db" | "ids" | "clock" | "timers" | "log">,
  courtesy: Courtesy,
  made: () => void,
): Dispatcher {
  const dispatching = oneAtATime(log, dispatch);
  let stopped = false;
  /** The organization that had the latest turn; the next statement begins after it. */
  let turn_after = "";
  let cancelGather: (() => void) | null = null;
  let cancelLook = timers.after(0, look);

  function look(): void {
    cancelLook = timers.after(look_ms, look);
    dispatching.run();
  }

  async function dispatch(): Promise<void> {
    await courtesy.rest();
    if (stopped) return;
    const dispatched = await dispatchEvents(db, {
      created_at: formatTimestampUs(clock.now_us()),
      next_id: () => ids.next("delivery"),
      events_max: courtesy.size(events_per_statement),
      turn_after,
    });
    turn_after = dispatched.turn;
    if (dispatched.made > 0) made();
    if (dispatched.events_left) dispatching.run();
  }

  return {
    wake() {
      if (stopped) return;
      cancelGather ??= timers.after(gather_ms, () => {
        cancelGather = null;
        dispatching.run();
      });
    },
    async stop() {
      stopped = true;
      cancelLook();
      cancelGather?.();
      await dispatching.ended();
    },
  };
}
