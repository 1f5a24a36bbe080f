/**
 * The dispatcher, the first machine: turns committed events into deliveries, one for each webhook that must receive the
 * event. Both are rows, so a lost wake-up costs time and never an event.
 *
 *   idle ──woken, 5 ms──> waiting ──turn──> dispatching ──no events left──> idle
 *   idle ──look─────────> waiting <──events left── dispatching
 *
 * Organizations take turns, and a turn is one statement. If several wait, each turn has a share of the events, so one
 * backlog does not delay another organization's event. A commit of this node wakes its organization. A look finds
 * organizations whose call was lost.
 */
import { formatTimestampUs } from "@countersign/core";
import type { Runtime } from "../../operations/runtime.ts";
import { dispatchEvents, events_per_statement, organizationsWithEvents } from "../../store/webhooks/dispatch-events.ts";
import type { Courtesy } from "./courtesy.ts";
import { startLooks } from "./looks.ts";
import { inTurns } from "./turns.ts";

/** A busy API calls `wake` for every decision. */
const gather_ms = 5;
/** Concurrent statements. */
const lanes = 2;
/** A statement for one event costs about as much as one for this many. */
const least_events = 8;

export interface Dispatcher {
  /** Must be called when the organization has new events. */
  wake(org_id: string): void;
  /** Waits for the running statements, and begins no other. */
  stop(): Promise<void>;
}

export function startDispatcher(
  { db, ids, clock, timers, log }: Pick<Runtime, "db" | "ids" | "clock" | "timers" | "log">,
  courtesy: Courtesy,
  made: (org_id: string) => void,
): Dispatcher {
  let stopped = false;
  const gathered = new Set<string>();
  let cancelGather: (() => void) | null = null;
  const turns = inTurns(log, lanes, dispatch);
  const looks = startLooks({ log, timers, clock }, () => db.system(organizationsWithEvents), turns.add);

  async function dispatch(org_id: string): Promise<boolean> {
    await courtesy.rest();
    if (stopped) return false;
    const share = Math.max(least_events, Math.ceil(events_per_statement / (turns.waiting() + 1)));
    const dispatched = await dispatchEvents(db, org_id, {
      created_at: formatTimestampUs(clock.now_us()),
      next_id: () => ids.next("delivery"),
      events_max: courtesy.size(share),
    });
    if (dispatched.made > 0) made(org_id);
    return dispatched.events_left;
  }

  function addGathered(): void {
    cancelGather = null;
    for (const org_id of gathered) turns.add(org_id);
    gathered.clear();
  }

  return {
    wake(org_id) {
      if (stopped) return;
      gathered.add(org_id);
      cancelGather ??= timers.after(gather_ms, addGathered);
    },
    async stop() {
      stopped = true;
      cancelGather?.();
      await Promise.all([looks.stop(), turns.stop()]);
    },
  };
}
