/**
 * Gives requests precedence over deliveries. A settlement of 250 attempts locks the organization's head for about 10
 * ms. So the machines rest before each statement, and keep it small while requests come.
 */
import type { GiveWay } from "../../ports.ts";

/** Rows of a statement while requests come. */
const small = 32;

export interface Courtesy {
  /** Must be awaited before each statement. */
  rest(): Promise<void>;
  /** Returns `most`, or fewer while requests come. */
  size(most: number): number;
}

export function courtesyOf(giveWay?: GiveWay): Courtesy {
  return {
    rest: async () => (giveWay?.asked() ? giveWay.rest() : undefined),
    size: (most) => (giveWay?.expecting() ? Math.min(most, small) : most),
  };
}
