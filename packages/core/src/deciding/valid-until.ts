import { type FactLimits, freshUntilUs } from "../facts/staleness.ts";
import { every_field } from "../policy/fact-paths.ts";
import type { Concluded } from "./conclude.ts";
import { parts_read } from "./evaluate.ts";
import type { PlacedPolicy } from "./policy-set.ts";

/**
 * Returns when the first fact behind a decision becomes stale, in microseconds; null if none does. With `deciding` only the
 * facts of those policies count. Facts that are stale already do not count, because bad news does not expire. A policy uses
 * every fact that the expressions read, without `require` if `when` is false.
 */
export function validUntilUs(record: Concluded, deciding: ReadonlySet<PlacedPolicy> | null): number | null {
  const { input, action, evaluation } = record;
  const { again } = record.modified;
  const { facts, policySet, now_us } = input;
  const seen = new Uint8Array(policySet.slots.length);
  let earliest_us = Infinity;
  const lookAt = (slots: readonly number[]): void => {
    for (const number of slots) {
      const slot = policySet.slots[number];
      if (seen[number] === 1 || slot === undefined) continue;
      seen[number] = 1;
      const limits = action.prepared.limits[slot.profile] as FactLimits;
      const fields = slot.field === every_field ? Object.keys(facts[slot.category]?.values ?? {}) : [slot.field];
      for (const field of fields) {
        const until_us = freshUntilUs(facts, limits, slot.category, field, now_us);
        if (until_us !== null && until_us < earliest_us) earliest_us = until_us;
      }
    }
  };
  for (const { group, candidates, read } of again === null ? [evaluation] : [evaluation, again.evaluation]) {
    for (let i = 0; i < candidates.length; i += 1) {
      const placed = group.placed[candidates[i] as number] as PlacedPolicy;
      if (read[i] === parts_read.nothing || (deciding !== null && !deciding.has(placed))) continue;
      lookAt(placed.when_slots);
      if (read[i] === parts_read.all) lookAt(placed.require_slots);
    }
  }
  return earliest_us === Infinity ? null : earliest_us;
}
