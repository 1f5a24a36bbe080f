/** Work in a thread that gives way to the requests which its node answers. */

/** Requests that a node has received; its threads share the count. It wraps around. */
export type RequestCount = Int32Array<SharedArrayBuffer>;

/** A request is under way for about as long as this after it came: most are answered within it. */
const recent_ms = 10;
/** Between two looks while requests come. */
const pause_ms = 5;
/** Under unbroken traffic work still goes on for this share of the time. */
const share = 1 / 8;
/** A piece of work takes a few milliseconds. What took longer was waiting, perhaps for another thread that rested. */
const rest_ms_max = 50;

/** What waiting needs; in a thread: the monotonic clock, `setTimeout` and `setImmediate` as promises. */
interface Pace {
  readonly now_ms: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly breathe: () => Promise<unknown>;
}

export function newRequestCount(): RequestCount {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** How a thread gives way. */
export interface GiveWay {
  /** A request came a moment ago. */
  asked(): boolean;
  /**
   * To be awaited between two small pieces of work. Resolves at once while no requests come. After one came it resolves
   * when none has come for a moment, at the latest when the thread has rested long enough for its share.
   */
  rest(): Promise<void>;
}

/** Begins with the next request: what came before holds nobody back. */
export function createGiveWay(requests: RequestCount, { now_ms, sleep, breathe }: Pace): GiveWay {
  let seen = Atomics.load(requests, 0);
  let last_ms = Number.NEGATIVE_INFINITY;
  let began_ms = now_ms();

  function asked(): boolean {
    const at_ms = now_ms();
    const count = Atomics.load(requests, 0);
    if (count !== seen) last_ms = at_ms;
    seen = count;
    return at_ms - last_ms < recent_ms;
  }

  return {
    asked,
    async rest() {
      const ended_ms = now_ms();
      const rest_ms = Math.min((ended_ms - began_ms) * (1 / share - 1), rest_ms_max);
      await breathe();
      while (asked() && now_ms() - ended_ms < rest_ms) await sleep(pause_ms);
      began_ms = now_ms();
    },
  };
}
