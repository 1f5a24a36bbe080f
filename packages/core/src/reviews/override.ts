import type { Reason } from "@countersign/contract";
import type { MembraneSettings } from "../deciding/decision.ts";
import { isFreezeReason } from "../deciding/freezes.ts";
import type { PolicySet } from "../deciding/policy-set.ts";
import { heldFor, membraneDemand, type ReviewDemand } from "../policy/escalation-terms.ts";

export type OverrideTerms =
  | { readonly kind: "forbidden"; readonly policies: readonly string[] }
  | {
      readonly kind: "allowed";
      readonly people: 1 | 2;
      /** Each person must meet every demand. */
      readonly demands: readonly ReviewDemand[];
      /** Names of stopping policies. */
      readonly policies: readonly string[];
      /** Becomes `DecideInput.overrides` of the next retry. */
      readonly lifts: readonly string[];
    };

/**
 * Computes the terms of an override. One policy with `never` forbids it. Two people must approve if a policy says
 * `two_person` or a demand has a quorum above 1. A policy no longer in the set requires one person.
 *
 * Everything that blocks or holds the action is cancelled except freezes, so the next retry is approved. Each person
 * must be a reviewer of every holding policy, and of the membrane if it holds or blocks. So more rules or risk never
 * reduce the number or rank of the deciding people.
 */
export function overrideTerms(
  reasons: readonly Reason[],
  policySet: PolicySet,
  membrane: MembraneSettings["escalation"],
): OverrideTerms {
  const stopping = reasons.filter(
    (reason) => (reason.effect === "block" || reason.effect === "escalate") && !isFreezeReason(reason),
  );
  const classes = new Map(policySet.live.placed.map(({ policy }) => [policy.policy_id, policy.override]));
  const classOf = (reason: Reason): string => classes.get(reason.policy_id ?? "") ?? "reviewer";
  const forbidden = stopping.filter((reason) => classOf(reason) === "never");
  if (forbidden.length > 0) return { kind: "forbidden", policies: namesIn(forbidden) };
  const lifts = sorted(stopping.map((reason) => reason.policy_id ?? reason.policy));
  const demands = heldFor(reasons, policySet, membrane);
  if (stopping.some(({ policy_id }) => policy_id === null)) demands.push(membraneDemand(membrane));
  const several =
    stopping.some((reason) => classOf(reason) === "two_person") || demands.some(({ quorum }) => quorum > 1);
  return { kind: "allowed", people: several ? 2 : 1, demands, policies: namesIn(stopping), lifts };
}

const namesIn = (reasons: readonly Reason[]): string[] => sorted(reasons.map(({ policy }) => policy));

const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();
