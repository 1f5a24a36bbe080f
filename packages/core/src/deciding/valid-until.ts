import { type FactLimits, freshUntilUs } from "../facts/staleness.ts";
import { every_field } from "../policy/fact-paths.ts";
import type { Concluded } from "./conclude.ts";
import { partsRead } from "./evaluate.ts";
import type { PlacedPolicy } from "./policy-set.ts";

/**
 * Returns when the first fact behind a decision becomes stale, in microseconds since 1970, or null. Counts facts that
 * evaluated expressions may read; with `deciding` only of these policies. Facts already stale do not count, because bad
 * news does not expire.
 */
export function validUntilUs(record: Concluded, deciding: ReadonlySet<PlacedPolicy> | null): number | null {
  const { input, action, evaluation } = record;
  const { reevaluation } = record.modified;
  const { facts, policySet, now_us } = input;
  const seen = new Uint8Array(policySet.slots.length);
  let earliest_us = Infinity;
  const lookAt = (slots: readonly number[]): void => {
    for (const number of slots) {
      const slot = policySet.slots[number];
      if (seen[number] === 1 || slot === undefined) continue;
      seen[number] = 1;
      const limits = action.prepared.limits[slot.profile] as FactLimits;
      for (const each of [facts, ...(facts.ancestors ?? []).map((ancestor) => ancestor.facts)]) {
        const fields = slot.field === every_field ? Object.keys(each[slot.category]?.values ?? {}) : [slot.field];
        for (const field of fields) {
          const until_us = freshUntilUs(each, limits, slot.category, field, now_us);
          if (until_us !== null && until_us < earliest_us) earliest_us = until_us;
        }
      }
    }
  };
  for (const { group, candidates, read } of reevaluation === null ? [evaluation] : [evaluation, reevaluation]) {
    for (let i = 0; i < candidates.length; i += 1) {
      const placed = group.placed[candidates[i] as number] as PlacedPolicy;
      if (read[i] === partsRead.nothing || (deciding !== null && !deciding.has(placed))) continue;
      lookAt(placed.when_slots);
      if (read[i] === partsRead.all) lookAt(placed.require_slots);
    }
  }
  return earliest_us === Infinity ? null : earliest_us;
}
