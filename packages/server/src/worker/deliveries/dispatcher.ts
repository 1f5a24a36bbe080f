/**
 * The dispatcher, the first of the three machines: turns committed events into deliveries, one for each webhook that must
 * receive the event. Events and deliveries are rows in the database, so a lost wake-up costs time and never an event.
 *
 *   idle ──poke──> gathering (5 ms) ──> dispatching ──no events left──> idle
 *   idle ──timer (1 s)────────────────> dispatching ──events left─────> dispatching
 *
 * What wakes it: a poke after a commit of this node; a timer, for events whose poke was lost.
 * What it hands on: nothing but a call of `made` after each statement that made deliveries. The deliverer leases them.
 */
import { formatTimestampUs } from "@countersign/core";
import type { Runtime } from "../../operations/runtime.ts";
import { dispatchEvents, events_per_statement } from "../../store/webhooks/dispatch-events.ts";
import type { Courtesy } from "./courtesy.ts";
import { oneAtATime } from "./one-at-a-time.ts";

const look_ms = 1_000;
/** Pokes within this time lead to one dispatch, because a busy API pokes for every decision. */
const gather_ms = 5;

/** The dispatcher of one node. */
export interface Dispatcher {
  /** There are new events. */
  poke(): void;
  /** Ends it after the statement under way. */
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
  /** The organization that had the last turn. */
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
    poke() {
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
