import { limits, unnamed_agent_id } from "@countersign/contract";
import { type ActionKey, accepts, type Match } from "../action-index.ts";
import type { MatchPatterns } from "../document.ts";
import type { PolicyDiagnostic } from "../located.ts";

export interface CostlyPolicy {
  readonly name: string;
  /** With folded names. */
  readonly match: Match;
  readonly units: number;
}

const dimensions = [
  ["type", "actions"],
  ["verb", "verbs"],
  ["agent_id", "agents"],
] as const satisfies readonly (readonly [keyof ActionKey, keyof MatchPatterns])[];

/** Limits the examined groups of policies, because a thousand patterns of each kind make 10^9. */
const looks_max = 2_000;
const looks_a_step = 20;
const named_max = 5;

export function canMeet(a: Match, b: Match): boolean {
  return dimensions.every(([, kind]) =>
    namesIn([a, b], kind).some((name) => accepts(a, kind, name) && accepts(b, kind, name)),
  );
}

/**
 * Warns if one action can match `added` and `others` that together exceed the budget of one decision. Null if the added
 * policies are neither named nor needed for that.
 */
export function* sharedBudgetSteps(
  added: readonly CostlyPolicy[],
  others: readonly CostlyPolicy[],
): Generator<void, PolicyDiagnostic | null> {
  let worst: { readonly action: string; readonly policies: readonly CostlyPolicy[] } | null = null;
  let most: number = limits.policy_cost_budget;
  let looks = 0;
  const isAdded = (policy: CostlyPolicy): boolean => added.includes(policy);
  function* look(policies: readonly CostlyPolicy[], names: readonly string[]): Generator<void, void> {
    looks += 1;
    if (looks % looks_a_step === 0) yield;
    if (unitsOf(policies) <= most || looks > looks_max) return;
    const [, kind] = dimensions[names.length] ?? [];
    if (kind === undefined) {
      worst = { action: names[0] as string, policies };
      most = unitsOf(policies);
      return;
    }
    const matches = policies.map(({ match }) => match);
    for (const name of namesIn(matches, kind)) {
      const matching = policies.filter(({ match }) => accepts(match, kind, name));
      if (matching.some(isAdded)) yield* look(matching, [...names, name]);
    }
  }
  yield* look([...added, ...others], []);
  return worst === null ? null : warningOf(isAdded, worst);
}

/** Returns one name per set of patterns; "*" is a name that no pattern fits. */
function namesIn(matches: readonly Match[], kind: keyof MatchPatterns): string[] {
  const patterns = matches.flatMap((match) => [...(match[kind] ?? []), ...(match.exclude?.[kind] ?? [])]);
  return [...new Set(["*", ...(kind === "agents" ? [unnamed_agent_id] : []), ...patterns])];
}

function unitsOf(policies: readonly CostlyPolicy[]): number {
  return policies.reduce((sum, { units }) => sum + units, 0);
}

function warningOf(
  isAdded: (policy: CostlyPolicy) => boolean,
  { action, policies }: { readonly action: string; readonly policies: readonly CostlyPolicy[] },
): PolicyDiagnostic | null {
  const budget = limits.policy_cost_budget;
  const units = unitsOf(policies);
  // Added policies come first among equal costs.
  const named = [...policies].sort((a, b) => b.units - a.units).slice(0, named_max);
  if (!named.some(isAdded) && units - unitsOf(policies.filter(isAdded)) > budget) return null;
  const shown = (count: number): string => Math.ceil(count).toLocaleString("en-US");
  const costs = named.map((each) => `${each.name} (${shown(each.units)})`).join(", ");
  const more = policies.length > named.length ? ` and ${policies.length - named.length} more` : "";
  return {
    ...{ path: "/spec", line: null, column: null, code: "cost" },
    message:
      `The ${policies.length} policies that match an action of the type ${action} may take ${shown(units)} units together; ` +
      `${shown(budget)} is the budget of one decision. The policies are: ${costs}${more}.`,
    help: "Nest fewer loops in these policies, or let each match fewer actions. What is over the budget is unknown: a blocking policy then blocks the action.",
  };
}
