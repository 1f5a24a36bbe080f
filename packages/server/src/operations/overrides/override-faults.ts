import { Fault, faultAt, membrane_demand_name } from "@countersign/core";
import type { UnmetDemand } from "../people/reviewers.ts";

export function notEnforcedFault(): Fault {
  return faultAt("override_not_allowed", "", "not_allowed", "Only a block that was enforced can be overridden.");
}

export function forbiddenFault(policies: readonly string[]): Fault {
  return notAllowed(policies.map((policy) => [policy, `The policy ${policy} may not be overridden.`]));
}

/**
 * An overridden action is approved without a review, so the override must meet the demands of other policies that hold
 * it. Faults: override_not_allowed naming the policies.
 */
export function unmetDemandsFault(unmet: readonly UnmetDemand[], people_max: number): Fault {
  return notAllowed(
    unmet.map(({ policy, quorum, few }) => [
      policy,
      few
        ? `${whose(policy)} asks for ${quorum} approvals of this action; an override takes ${people_max} people at most.`
        : `${whose(policy)} holds this action for other reviewers.`,
    ]),
  );
}

function whose(policy: string): string {
  return policy === membrane_demand_name ? "The membrane" : `The policy ${policy}`;
}

export function conflict(message: string): Fault {
  return faultAt("state_conflict", "", "not_allowed", message);
}

function notAllowed(findings: readonly (readonly [policy: string, message: string])[]): Fault {
  const details = findings.map(([policy, message]) => ({ path: "", code: "not_allowed", policy, message }));
  return new Fault("override_not_allowed", { details });
}
