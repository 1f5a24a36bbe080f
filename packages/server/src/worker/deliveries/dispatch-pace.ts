/**
 * How fast the rest of a burst of events is dispatched. A delivery that is made where there is no room waits, and to claim it
 * later is one more write; so the rest is dispatched as places come free, about as many events at a time as that. Nobody
 * waits for that long:
 *
 *   nothing was leased or left waiting    nobody hears of these events: at once
 *   a receiver has places and none wait   at once
 *   few attempts end (20 ms)              as many events as ever: the places are held by the slow or the dead
 *   something new came (20 ms)            whoever it is from may have all its places free
 *   none of these (40 ms)                 a receiver that hears little may stand behind one that is busy
 */
import type { Timers } from "../../ports.ts";

/** At a time, while the rest of a burst waits for places: half of what may be in flight at one receiver. */
export const events_as_places_come = 144;

const look_ms = 20;
const looks_max = 2;
/** Of a receiver that takes what it gets, more end between two looks. */
const busy_ends = 32;

/** The pace of one node's dispatches. */
export interface DispatchPace {
  /** Events are left, and the receivers of those before had no more room: `goOn` is called when to dispatch again. */
  wait(): void;
  /** An attempt ended; `has_room`: its receiver has places, and nothing that is known of waits for them. */
  ended(has_room: boolean): void;
  /** There are new events. */
  poked(): void;
  /** A dispatch begins, or none is to come; says whether it is one of few events. */
  begin(): boolean;
}

/** Creates the pace of a loop that dispatches when `goOn` is called. */
export function createDispatchPace(timers: Timers, goOn: () => void): DispatchPace {
  let wait: { ended: number; looks: number; poked: boolean } | null = null;
  let cancel: () => void = () => undefined;

  function look(): void {
    if (wait === null) return;
    const few_ended = wait.ended < busy_ends;
    if (!few_ended && !wait.poked && wait.looks + 1 < looks_max) {
      wait = { ended: 0, looks: wait.looks + 1, poked: false };
      cancel = timers.after(look_ms, look);
      return;
    }
    if (few_ended) wait = null;
    goOn();
  }

  return {
    wait() {
      cancel();
      wait = { ended: 0, looks: 0, poked: false };
      cancel = timers.after(look_ms, look);
    },
    ended(has_room) {
      if (wait === null) return;
      wait.ended += 1;
      if (has_room) goOn();
    },
    poked() {
      if (wait === null) goOn();
      else wait.poked = true;
    },
    begin() {
      const few = wait !== null;
      cancel();
      wait = null;
      return few;
    },
  };
}
