/** Lets the work of a thread give way to the requests of its node. */
import { performance } from "node:perf_hooks";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import type { GiveWay } from "../../ports.ts";

/** The number of requests that a node has received. Its threads share the count, which wraps around. */
export type RequestCount = Int32Array<SharedArrayBuffer>;

/** How much a thread gives way. */
export interface Manners {
  /** A request is probably answered within this time. */
  readonly recent_ms: number;
  /** Time between two checks while requests come. */
  readonly pause_ms: number;
  /** Under constant traffic, work gets this share of the time. */
  readonly share: number;
  /** Maximum length of one rest, for any amount of work before it, including work without traffic. */
  readonly rest_ms_max: number;
}

/** For this long after a request the next one is expected. */
const expecting_ms = 100;

/** The clock and the waits. In a thread: the monotonic clock, `setTimeout` and `setImmediate` as promises. */
interface Pace {
  readonly now_ms: () => number;
  /**
   * How long the thread has worked in total, without its waits. Otherwise it would rest for waiting on another resting
   * thread, up to seven times as long. Then both would stop.
   */
  readonly worked_ms: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly breathe: () => Promise<unknown>;
}

/** The pace of the calling thread. */
const paceOfThread: Pace = {
  now_ms: () => performance.now(),
  worked_ms: () => performance.eventLoopUtilization().active,
  sleep,
  breathe,
};

export function newRequestCount(): RequestCount {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** Creates a function that gives way. It starts counting with the next request and ignores earlier ones. */
export function createGiveWay(
  requests: RequestCount,
  { recent_ms, pause_ms, share, rest_ms_max }: Manners,
  { now_ms, worked_ms, sleep, breathe }: Pace = paceOfThread,
): GiveWay {
  let seen = Atomics.load(requests, 0);
  let last_ms = Number.NEGATIVE_INFINITY;
  let rested_for_ms = worked_ms();

  function cameWithin(ms: number): boolean {
    const at_ms = now_ms();
    const count = Atomics.load(requests, 0);
    if (count !== seen) last_ms = at_ms;
    seen = count;
    return at_ms - last_ms < ms;
  }
  const asked = () => cameWithin(recent_ms);

  return {
    asked,
    expecting: () => cameWithin(expecting_ms),
    async rest() {
      const ended_ms = now_ms();
      const rest_ms = Math.min((worked_ms() - rested_for_ms) * (1 / share - 1), rest_ms_max);
      await breathe();
      // A debt of less than one pause is kept. A pause after each small piece of work would take many times longer than
      // the work.
      if (rest_ms < pause_ms) return;
      while (asked() && now_ms() - ended_ms < rest_ms) await sleep(pause_ms);
      // A rest that was longer than the debt, by part of a pause, counts for the next work.
      const over_ms = Math.min(Math.max(now_ms() - ended_ms - rest_ms, 0), pause_ms);
      rested_for_ms = worked_ms() + over_ms / (1 / share - 1);
    },
  };
}
