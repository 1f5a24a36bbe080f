import type { MergedFacts } from "../facts/merge.ts";
import { type FactLimits, freshUntilUs } from "../facts/staleness.ts";
import { every_field } from "../policy/fact-paths.ts";
import type { PlacedPolicy, PolicySet, PreparedMembrane } from "./policy-set.ts";
import { candidate_states, type Round } from "./round.ts";

/**
 * The moment at which the first of the facts behind a decision grows stale, in microseconds; null when none does.
 * `rounds` are of the action as submitted and, if it was evaluated, as modified. `deciding` narrows the facts to those of some policies; with null all that were evaluated count. Facts that were
 * stale already do not: what rests on them is bad news, and bad news does not expire. Which facts a policy used is read
 * off its expressions, and only `when` counts where the rule did not apply.
 * Source: policies.md §3 rule 7.
 */
export function validUntilUs(
  facts: MergedFacts,
  now_us: number,
  policySet: PolicySet,
  prepared: PreparedMembrane,
  rounds: readonly Round[],
  deciding: ReadonlySet<PlacedPolicy> | null,
): number | null {
  const seen = new Uint8Array(policySet.slots.length);
  let earliest = Infinity;
  const look = (slots: readonly number[]): void => {
    for (const number of slots) {
      if (seen[number] === 1) continue;
      seen[number] = 1;
      const slot = policySet.slots[number];
      if (slot === undefined) continue;
      const ages = prepared.limits[slot.profile] as FactLimits;
      const fields = slot.field === every_field ? Object.keys(facts[slot.category]?.values ?? {}) : [slot.field];
      for (const field of fields) {
        const until_us = freshUntilUs(facts, ages, slot.category, field, now_us);
        if (until_us !== null && until_us < earliest) earliest = until_us;
      }
    }
  };
  for (const { group, candidates, states } of rounds) {
    for (let i = 0; i < candidates.length; i += 1) {
      const placed = group.placed[candidates[i] as number] as PlacedPolicy;
      const state = states[i];
      if (state === candidate_states.not_in_force || (deciding !== null && !deciding.has(placed))) continue;
      look(placed.when_slots);
      if (state !== candidate_states.not_applicable) look(placed.require_slots);
    }
  }
  return earliest === Infinity ? null : earliest;
}
