/**
 * Gives requests precedence over deliveries, because callers wait for decisions. A running statement cannot give way: a
 * settlement of 250 attempts locks the organization's head for about 10 ms, and its decisions wait. So the machines
 * rest before each statement, and keep statements small while requests come.
 */
import type { GiveWay } from "../../ports.ts";

/** The maximum rows of one statement while requests come. Smaller statements cost 10 % more for each delivery. */
const small = 32;

/** The rests and sizes of statements. */
export interface Courtesy {
  /** Waits. Must be awaited before each statement. */
  rest(): Promise<void>;
  /** Returns how many rows the next statement may have: `most`, or fewer while requests come. */
  size(most: number): number;
}

/** Creates the rests and sizes. Without `giveWay` the machines never rest. */
export function courtesyOf(giveWay?: GiveWay): Courtesy {
  return {
    rest: async () => (giveWay?.asked() ? giveWay.rest() : undefined),
    size: (most) => (giveWay?.expecting() ? Math.min(most, small) : most),
  };
}
