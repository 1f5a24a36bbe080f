import { performance } from "node:perf_hooks";
import { setImmediate as breathe, setTimeout as sleep } from "node:timers/promises";
import type { GiveWay } from "../../ports.ts";

/** Requests that a node has received, shared with its threads. Wraps around. */
export type RequestCount = Int32Array<SharedArrayBuffer>;

export interface Manners {
  /** A request is probably answered within this time. */
  readonly recent_ms: number;
  /** Between two checks while requests come. */
  readonly pause_ms: number;
  /** Share of the time for work under constant traffic. */
  readonly share: number;
  /** Longest single rest. */
  readonly rest_ms_max: number;
}

/** After a request, the next one is expected for this long. */
const expecting_ms = 100;

interface Pace {
  readonly now_ms: () => number;
  /** Without waits. Otherwise threads that wait for each other would rest for these waits, until both stopped. */
  readonly worked_ms: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly breathe: () => Promise<unknown>;
}

const paceOfThread: Pace = {
  now_ms: () => performance.now(),
  worked_ms: () => performance.eventLoopUtilization().active,
  sleep,
  breathe,
};

export function newRequestCount(): RequestCount {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

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
      // A smaller debt is kept, because a pause takes much longer than a small piece of work.
      if (rest_ms < pause_ms) return;
      while (asked() && now_ms() - ended_ms < rest_ms) await sleep(pause_ms);
      // The part of the rest beyond the debt counts for the next work.
      const over_ms = Math.min(Math.max(now_ms() - ended_ms - rest_ms, 0), pause_ms);
      rested_for_ms = worked_ms() + over_ms / (1 / share - 1);
    },
  };
}
