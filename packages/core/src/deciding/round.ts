import { evaluateRule, firesForSure, type Scene } from "../policy/evaluate.ts";
import type { PlacedPolicy, PolicyGroup } from "./policy-set.ts";
import { type Vote, voteOf } from "./votes.ts";

/** How far the evaluation of a candidate got. */
export const candidate_states = { not_in_force: 0, not_applicable: 1, quiet: 2, found: 3 } as const;

/** A vote and the policy's place in its set. */
export interface PlacedVote {
  readonly placed: PlacedPolicy;
  readonly vote: Vote;
  /** Places of the policies that stand back because of it. */
  readonly silences: readonly number[];
}

const nobody: readonly number[] = Object.freeze([]);

/** All policies that match an action, evaluated once. `states` runs parallel to `candidates`. */
export interface Round {
  readonly group: PolicyGroup;
  readonly candidates: readonly number[];
  readonly states: Uint8Array;
  readonly votes: readonly PlacedVote[];
}

/**
 * Evaluates every candidate: no verdict ends it early, since audit and risk need them all. Votes come in the order of
 * the set. A policy that another one suppresses has no vote; only a policy that definitely fires suppresses, and one that
 * fires because of what stale facts say does not: they switch rules on, never off. `silent` are places that have no vote
 * whatever fires.
 * Source: policies.md §3 rules 2 and 3.
 */
export function evaluateRound(
  group: PolicyGroup,
  candidates: readonly number[],
  scenes: (profile: number) => Scene,
  now_us: number,
  silent: readonly number[] = [],
): Round {
  const states = new Uint8Array(candidates.length);
  const votes: PlacedVote[] = [];
  let suppressed: Set<number> | null = silent.length === 0 ? null : new Set(silent);
  for (let i = 0; i < candidates.length; i += 1) {
    const placed = group.placed[candidates[i] as number] as PlacedPolicy;
    const { policy } = placed;
    if (now_us < policy.effective_from_us || now_us >= policy.effective_until_us) continue;
    const scene = scenes(placed.profile);
    const outcome = evaluateRule(policy, scene);
    if (!("policy" in outcome)) {
      states[i] = candidate_states[outcome.state];
      continue;
    }
    states[i] = candidate_states.found;
    const vote = voteOf(outcome, scene);
    const silences =
      outcome.state === "fired" && placed.suppresses.length > 0 && firesForSure(policy, scene)
        ? placed.suppresses
        : nobody;
    if (vote !== null) votes.push({ placed, vote, silences });
    if (silences.length > 0) {
      suppressed ??= new Set();
      for (const place of silences) suppressed.add(place);
    }
  }
  if (suppressed === null) return { group, candidates, states, votes };
  const silenced = new Set([...suppressed].map((place) => group.placed[place]));
  return { group, candidates, states, votes: votes.filter(({ placed }) => !silenced.has(placed)) };
}
