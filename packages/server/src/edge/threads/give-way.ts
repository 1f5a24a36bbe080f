/** Work in a thread that gives way to the requests which its node answers. */
import { performance } from "node:perf_hooks";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import type { GiveWay } from "../../ports.ts";

/** Requests that a node has received; its threads share the count. It wraps around. */
export type RequestCount = Int32Array<SharedArrayBuffer>;

/** How much a thread gives way. */
export interface Manners {
  /** A request is under way for about as long as this after it came: most are answered within it. */
  readonly recent_ms: number;
  /** Between two looks while requests come. */
  readonly pause_ms: number;
  /** Under unbroken traffic work still goes on for this share of the time. */
  readonly share: number;
  /** One rest is no longer than this, whatever was worked before it, while nobody asked too. */
  readonly rest_ms_max: number;
}

/** As long after a request another one is expected. */
const expecting_ms = 100;

/** What waiting needs; in a thread: the monotonic clock, `setTimeout` and `setImmediate` as promises. */
interface Pace {
  readonly now_ms: () => number;
  /**
   * For how long the thread has worked altogether. Without what it waited for: another thread that rested, for which this
   * one would rest seven times as long, and so on, until both stood still.
   */
  readonly worked_ms: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly breathe: () => Promise<unknown>;
}

/** Of the thread that calls it. */
const paceOfThread: Pace = {
  now_ms: () => performance.now(),
  worked_ms: () => performance.eventLoopUtilization().active,
  sleep,
  breathe,
};

export function newRequestCount(): RequestCount {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** Begins with the next request: what came before holds nobody back. */
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
      // Less than one pause is owed on: a pause for each of many small pieces would be many times their work.
      if (rest_ms < pause_ms) return;
      while (asked() && now_ms() - ended_ms < rest_ms) await sleep(pause_ms);
      // What it rested longer than it owed, by part of a pause, is for what comes next.
      const over_ms = Math.min(Math.max(now_ms() - ended_ms - rest_ms, 0), pause_ms);
      rested_for_ms = worked_ms() + over_ms / (1 / share - 1);
    },
  };
}
