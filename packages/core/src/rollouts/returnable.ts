import { type Decided, default_verdict_name, risk_threshold_name } from "../deciding/decision.ts";
import type { PolicySet } from "../deciding/policy-set.ts";

/** Names of the service's own holds that rest on a setting of the membrane. */
const settingHolds: ReadonlySet<string> = new Set([default_verdict_name, risk_threshold_name]);

/**
 * Returns true if a rollout may return this hold to shadow: only rules that hold, or settings of the membrane, hold the
 * action. Rules that block (also while they hold for a missing fact), rules that nobody may override, freezes and
 * changed tools are never returned, nor is an action that counts in a limit.
 */
export function isReturnable(
  { content, counted }: Pick<Decided, "content" | "counted">,
  { live }: Pick<PolicySet, "live">,
): boolean {
  if (content.verdict !== "escalate" || counted.length > 0) return false;
  return content.reasons.every(({ effect, policy_id, policy: name }) => {
    if (effect !== "escalate") return true;
    if (policy_id === null) return settingHolds.has(name);
    const placed = live.placed.find(({ policy }) => policy.policy_id === policy_id);
    return placed?.policy.effect === "escalate" && placed.policy.override !== "never";
  });
}
