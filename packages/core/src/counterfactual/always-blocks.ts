import { foldName, unnamed_agent_id } from "@countersign/contract";
import { classifyAction } from "../deciding/classify.ts";
import { default_verdict_name, type MembraneSettings } from "../deciding/decision.ts";
import type { PlacedPolicy, PolicySet } from "../deciding/policy-set.ts";

/**
 * Returns the rule that blocks every action of this agent with this verb and without a declared type, whatever its
 * parameters, facts and time are. Null: some action may pass. Looks only at rules with `when: "true"`, so it may miss a
 * rule, but it never names a tool whose call could be approved. Freezes do not count, because they end.
 */
export function alwaysBlocks(
  policySet: PolicySet,
  membrane: MembraneSettings,
  { agent_id, verb }: { readonly agent_id: string; readonly verb: string },
  now_us: number,
): string | null {
  if (membrane.default_verdict === "block") return default_verdict_name;
  const { live } = policySet;
  const { type } = classifyAction({ action: { verb } }, policySet.prepare(membrane).catalogue);
  const key = { type, verb: foldName(verb), agent_id: foldName(agent_id) };
  const place = live.candidates(key).find((each) => {
    const placed = live.placed[each];
    if (placed === undefined || !hasNoCondition(placed, now_us)) return false;
    if (placed.agent_unknown && key.agent_id === unnamed_agent_id) return false;
    return !live.placed.some(({ suppresses }) => suppresses.includes(each));
  });
  return place === undefined ? null : (live.placed[place]?.policy.name ?? null);
}

function hasNoCondition({ policy }: PlacedPolicy, now_us: number): boolean {
  const { effect, when, require, effective_from_us, effective_until_us } = policy;
  const is_in_force = effective_from_us <= now_us && effective_until_us === Number.POSITIVE_INFINITY;
  return effect === "block" && when === null && require === null && is_in_force;
}
