/**
 * Counts how long each organization's decisions took on this node.
 *
 * Sixteen histogram steps per doubling. A figure is its step's upper edge, at most 1/16 above the true value. 1.7 kB
 * per organization; the least recently used one is evicted.
 */

import { formatTimestampUs } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { DecisionLatencies } from "../shared/node-services.ts";

const organizations_max = 2_000;
const steps_bits = 4;
const steps = 2 ** steps_bits;
/** Longer times, above 35 minutes, count in the last step. */
const elapsed_us_max = 2 ** 31 - 1;
const slots = stepOf(elapsed_us_max) + 1;

interface Counted {
  readonly since_us: number;
  readonly counts: Uint32Array;
  count: number;
}

export function createDecisionLatencies(): DecisionLatencies {
  const organizations = new LRUCache<string, Counted>({ max: organizations_max });
  return {
    decided(org_id, at_us, elapsed_us) {
      let counted = organizations.get(org_id);
      if (counted === undefined) {
        counted = { since_us: at_us, counts: new Uint32Array(slots), count: 0 };
        organizations.set(org_id, counted);
      }
      // Clamps to 0, because the clock may have gone backwards.
      const step = stepOf(Math.min(Math.max(0, Math.floor(elapsed_us)), elapsed_us_max));
      counted.counts[step] = (counted.counts[step] as number) + 1;
      counted.count += 1;
    },
    of(org_id) {
      const counted = organizations.peek(org_id);
      if (counted === undefined) return null;
      return {
        since: formatTimestampUs(counted.since_us),
        count: counted.count,
        p50_ms: quantileMs(counted, 0.5),
        p95_ms: quantileMs(counted, 0.95),
        p99_ms: quantileMs(counted, 0.99),
      };
    },
  };
}

function stepOf(us: number): number {
  if (us < steps) return us;
  const shift = 31 - Math.clz32(us) - steps_bits;
  return shift * steps + (us >>> shift);
}

function upperUs(step: number): number {
  if (step < steps) return step;
  const shift = Math.floor(step / steps) - 1;
  return (steps + (step % steps) + 1) * 2 ** shift - 1;
}

function quantileMs({ counts, count }: Counted, share: number): number {
  let left = Math.ceil(count * share);
  const step = counts.findIndex((each) => {
    left -= each;
    return left <= 0;
  });
  return upperUs(step) / 1_000;
}
