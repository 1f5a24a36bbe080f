/**
 * Counts how long the decisions of each organization took on this node, in memory.
 *
 * Sixteen histogram steps per doubling: a reported figure is the step's upper edge, at most 1/16 above the true value
 * and never below it. About 1.7 kB per organization. The least recently used one is evicted and counted again from
 * zero.
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

/** Below `steps`, each microsecond has its own step. Above, the leading bits decide. */
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

/** Returns the smallest figure that this share of the decisions did not exceed. */
function quantileMs({ counts, count }: Counted, share: number): number {
  let left = Math.ceil(count * share);
  const step = counts.findIndex((each) => {
    left -= each;
    return left <= 0;
  });
  return upperUs(step) / 1_000;
}
