/**
 * How the machines give way to requests that the node answers. Someone waits for a decision, nobody waits for a delivery.
 * A statement that has begun gives way to nobody: a settlement of 250 attempts locks the organization's head for about
 * 10 ms, and its decisions wait for that. So the machines rest before each statement, and keep statements small while
 * requests come.
 */
import type { GiveWay } from "../../ports.ts";

/** Events, deliveries or attempts of one statement while requests come. Smaller statements cost a tenth more each delivery. */
const small = 32;

/** The rests and sizes of statements. */
export interface Courtesy {
  /** Await it before each statement. */
  rest(): Promise<void>;
  /** The size of the next statement, which could be `most`. */
  size(most: number): number;
}

/** Without `giveWay` the machines never rest. */
export function courtesyOf(giveWay?: GiveWay): Courtesy {
  return {
    rest: async () => (giveWay?.asked() ? giveWay.rest() : undefined),
    size: (most) => (giveWay?.expecting() ? Math.min(most, small) : most),
  };
}
